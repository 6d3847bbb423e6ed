// C-on-Demand: the subset of C that a specification is written in.
// Names are resolved, and target and filter labels told apart, by semantic analysis (sema.h).
grammar Cod;

specification : item* EOF ;

item
  : globalDeclaration
  | functionDefinition
  | targetHandler
  | statement
  ;

targetHandler : label+ statement ;
label         : Identifier ':' ;

globalDeclaration : 'global' typeName Identifier ('[' expression ']')* ';' ;

functionDefinition : ('static' | 'inline')* typeName Identifier '(' parameters? ')' block ;
parameters         : 'void' | parameter (',' parameter)* ;
parameter          : typeName Identifier ;

block : '{' statement* '}' ;

statement
  : block                                                                        # BlockStatement
  | declaration ';'                                                              # DeclarationStatement
  | expression? ';'                                                              # ExpressionStatement
  | 'if' '(' expression ')' statement ('else' statement)?                        # IfStatement
  | 'while' '(' expression ')' statement                                         # WhileStatement
  | 'do' statement 'while' '(' expression ')' ';'                                # DoStatement
  | 'for' '(' (declaration | start=expression)? ';' test=expression? ';' step=expression? ')' statement  # ForStatement
  | 'break' ';'                                                                  # BreakStatement
  | 'continue' ';'                                                               # ContinueStatement
  | 'return' expression? ';'                                                     # ReturnStatement
  ;

declaration : typeName declarator (',' declarator)* ;
declarator  : Identifier ('=' expression)? ;

typeName : typeWord+ ;
typeWord
  : 'const' | 'volatile' | 'void' | 'bool' | '_Bool' | 'char' | 'short' | 'int' | 'long' | 'signed' | 'unsigned' | 'float'
  | 'double' | FixedType
  ;

expression
  : primary                                                                      # PrimaryExpression
  | Identifier '(' (expression (',' expression)*)? ')'                           # CallExpression
  | expression '[' expression ']'                                                # IndexExpression
  | expression op=('++' | '--')                                                  # PostfixExpression
  | op=('++' | '--' | '+' | '-' | '!' | '~' | '&') expression                    # UnaryExpression
  | '(' typeName ')' expression                                                  # CastExpression
  | 'sizeof' '(' typeName ')'                                                    # SizeofExpression
  | expression op=('*' | '/' | '%') expression                                   # BinaryExpression
  | expression op=('+' | '-') expression                                         # BinaryExpression
  | expression op=('<<' | '>>') expression                                       # BinaryExpression
  | expression op=('<' | '>' | '<=' | '>=') expression                           # BinaryExpression
  | expression op=('==' | '!=') expression                                       # BinaryExpression
  | expression op='&' expression                                                 # BinaryExpression
  | expression op='^' expression                                                 # BinaryExpression
  | expression op='|' expression                                                 # BinaryExpression
  | expression op='&&' expression                                                # BinaryExpression
  | expression op='||' expression                                                # BinaryExpression
  | <assoc=right> expression '?' expression ':' expression                       # ConditionalExpression
  | <assoc=right> expression op=('=' | '+=' | '-=' | '*=' | '/=' | '%=' | '<<=' | '>>=' | '&=' | '^=' | '|=') expression  # AssignExpression
  ;

primary
  : Identifier            # NamePrimary
  | Integer               # IntegerPrimary
  | Floating              # FloatingPrimary
  | Character             # CharacterPrimary
  | String+               # StringPrimary
  | 'true'                # TruePrimary
  | 'false'               # FalsePrimary
  | '(' expression ')'    # ParenthesisPrimary
  ;

// Words of C, and of C-on-Demand's later additions, that are no names; the parser's messages name them (parser.cpp).
Reserved
  : 'switch' | 'case' | 'default' | 'goto' | 'struct' | 'union' | 'enum' | 'typedef' | 'shared' | 'auto' | 'register' | 'extern'
  | 'restrict'
  ;
FixedType : 'u'? 'int' ('8' | '16' | '32' | '64') '_t' | 'size_t' | 'ptrdiff_t' | 'uintptr_t' | 'intptr_t' ;

Identifier : [a-zA-Z_] [a-zA-Z_0-9]* ;
Integer    : ([0-9]+ | '0' [xX] [0-9a-fA-F]+ | '0' [bB] [01]+) [uUlL]* ;
Floating   : ([0-9]+ '.' [0-9]* | '.' [0-9]+) ([eE] [+\-]? [0-9]+)? [fFlL]? | [0-9]+ [eE] [+\-]? [0-9]+ [fFlL]? ;
Character  : '\'' (~['\\\r\n] | '\\' .) '\'' ;
String     : '"' (~["\\\r\n] | '\\' .)* '"' ;

LineComment  : '//' ~[\r\n]* -> skip ;
BlockComment : '/*' .*? '*/' -> skip ;
Space        : [ \t\r\n\f]+ -> skip ;
Unknown      : . ;
