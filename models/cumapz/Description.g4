// CuMAPz's description of a kernel (its Figure 4): the launch, its reads and writes, and its fetches into
// shared memory.
grammar Description;

description : item* EOF ;

item
  : 'const' Identifier '=' expression ';'                          # ConstantItem
  | 'choice' Identifier '=' expression (',' expression)* ';'       # ChoiceItem
  | 'grid' '(' expression (',' expression)* ')' ';'                # GridItem
  | 'block' '(' expression (',' expression)* ')' ';'               # BlockItem
  | 'order' '(' expression (',' expression)* ')' ';'               # OrderItem
  | 'registers' expression ';'                                     # RegistersItem
  | kind=('array' | 'texture' | 'constant') Identifier 'of' expression ';'  # ArrayItem
  | 'shared' Identifier '[' expression ']' 'of' expression ';'     # SharedItem
  | statement                                                      # StatementItem
  ;

statement
  : '{' statement* '}'                                             # Block
  | 'let' Identifier '=' expression ';'                            # Let
  | 'fetch' element '=' element ';'                                # Fetch
  | 'store' element '=' element ';'                                # Store
  | kind=('read' | 'write') element ';'                            # Access
  | 'arithmetic' expression ';'                                    # Arithmetic
  | 'if' '(' expression ')' statement ('else' statement)?          # If
  | 'for' '(' Identifier '=' expression ';' expression ';' Identifier '+=' expression ')' statement  # For
  ;

element : Identifier '[' expression ']' ;

expression
  : Integer                                                        # Number
  | Identifier                                                     # Name
  | Identifier '.' Identifier                                      # Member
  | '(' expression ')'                                             # Parenthesis
  | op=('-' | '!' | '~') expression                                # Unary
  | expression op=('*' | '/' | '%') expression                     # Binary
  | expression op=('+' | '-') expression                           # Binary
  | expression op=('<<' | '>>') expression                         # Binary
  | expression op=('<' | '>' | '<=' | '>=') expression             # Binary
  | expression op=('==' | '!=') expression                         # Binary
  | expression op='&' expression                                   # Binary
  | expression op='^' expression                                   # Binary
  | expression op='|' expression                                   # Binary
  | expression op='&&' expression                                  # Binary
  | expression op='||' expression                                  # Binary
  | <assoc=right> expression '?' expression ':' expression         # Conditional
  ;

Identifier : [a-zA-Z_] [a-zA-Z_0-9]* ;
Integer    : [0-9]+ | '0' [xX] [0-9a-fA-F]+ ;

LineComment  : '//' ~[\r\n]* -> skip ;
BlockComment : '/*' .*? '*/' -> skip ;
Space        : [ \t\r\n\f]+ -> skip ;
Unknown      : . ;
