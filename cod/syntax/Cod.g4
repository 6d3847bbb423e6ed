// C-on-Demand: the subset of C in which specifications are written. Semantic analysis (sema.h) resolves names
// and distinguishes target and filter labels.
grammar Cod;

tokens { TypedefName }  // an Identifier that is a typedef name; the parser distinguishes them (parser.cpp)

specification : item* EOF ;

item
  : inclusion
  | globalDeclaration
  | hostDeclaration
  | functionDefinition
  | targetHandler
  | statement
  ;

inclusion : 'include' String ';'? ;

targetHandler : label+ statement ;
label         : Identifier ('(' expression (',' expression)* ')')? ':' ;

// `storage` is trace, histogram or map, and `by` is `by`; these words are not reserved. The initializer of a
// histogram selects its bins.
globalDeclaration
  : space=('global' | 'shared') storage=Identifier? element=typeName? globalDeclarator (',' globalDeclarator)*
    (by=Identifier key=typeName)? ';'
  ;
globalDeclarator : Identifier ('[' expression? ']')* ('=' initializer)? ;

// `word` is host.
hostDeclaration : word=Identifier declaration ';' ;

functionDefinition : ('static' | 'inline')* typeName pointer? Identifier '(' parameters? ')' block ;
parameters         : 'void' | parameter (',' parameter)* ;
parameter          : typeName pointer? Identifier ('[' expression? ']')* ;

pointer : ('*' 'const'*)+ ;

block : '{' statement* '}' ;

statement
  : block                                                                        # BlockStatement
  | 'typedef' typeName pointer? Identifier ';'                                            # TypedefStatement
  | 'static'? declaration ';'                                                    # DeclarationStatement
  | commaExpression? ';'                                                         # ExpressionStatement
  | 'if' '(' commaExpression ')' statement ('else' statement)?                   # IfStatement
  | 'while' '(' commaExpression ')' statement                                    # WhileStatement
  | 'do' statement 'while' '(' commaExpression ')' ';'                           # DoStatement
  | 'for' '(' (declaration | start=commaExpression)? ';' test=commaExpression? ';' step=commaExpression? ')' statement  # ForStatement
  | 'switch' '(' commaExpression ')' statement                                   # SwitchStatement
  | ('case' expression | 'default') ':' statement                                # CaseStatement
  | 'break' ';'                                                                  # BreakStatement
  | 'continue' ';'                                                               # ContinueStatement
  | 'return' commaExpression? ';'                                                # ReturnStatement
  ;

declaration : typeName (declarator (',' declarator)*)? ;
declarator  : pointer? Identifier ('[' expression? ']')* ('=' initializer)? ;
initializer : expression | '{' (initializer (',' initializer)* ','?)? '}' ;

typeName : typeWord+ ;
typeWord
  : 'const' | 'volatile' | 'void' | 'bool' | '_Bool' | 'char' | 'short' | 'int' | 'long' | 'signed' | 'unsigned' | 'float'
  | 'double' | FixedType | TypedefName | structure | enumeration
  ;
structure   : 'struct' tag? ('{' field* '}')? ;
field       : typeName declarator (',' declarator)* ';' ;
enumeration : 'enum' tag? ('{' enumerator (',' enumerator)* ','? '}')? ;
enumerator  : Identifier ('=' expression)? ;
tag         : Identifier | TypedefName ;

commaExpression : expression (',' expression)* ;

expression
  : primary                                                                      # PrimaryExpression
  | Identifier '(' (expression (',' expression)*)? ')'                           # CallExpression
  | expression '[' expression ']'                                                # IndexExpression
  | expression op=('.' | '->') Identifier                                        # MemberExpression
  | expression op=('++' | '--')                                                  # PostfixExpression
  | op=('++' | '--' | '+' | '-' | '!' | '~' | '&' | '*') expression              # UnaryExpression
  | '(' typeName pointer? ')' expression                                         # CastExpression
  | 'sizeof' '(' typeName pointer? ')'                                           # SizeofTypeExpression
  | 'sizeof' expression                                                          # SizeofExpression
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
  | '(' commaExpression ')'  # ParenthesisPrimary
  ;

// Words of C, and possible future words of C-on-Demand, that cannot be names; the parser reports them
// (parser.cpp).
Reserved
  : 'goto' | 'union' | 'auto' | 'register' | 'extern' | 'restrict'
  ;
FixedType : 'u'? 'int' ('8' | '16' | '32' | '64') '_t' | 'size_t' | 'ptrdiff_t' | 'uintptr_t' | 'intptr_t' ;

Identifier : [a-zA-Z_] [a-zA-Z_0-9]* ;
Integer    : ([0-9]+ | '0' [xX] [0-9a-fA-F]+ | '0' [bB] [01]+) [uUlL]* ;
Floating
  : ([0-9]+ '.' [0-9]* | '.' [0-9]+) ([eE] [+\-]? [0-9]+)? [fFlL]?
  | [0-9]+ [eE] [+\-]? [0-9]+ [fFlL]?
  | '0' [xX] ([0-9a-fA-F]+ '.'? [0-9a-fA-F]* | '.' [0-9a-fA-F]+) [pP] [+\-]? [0-9]+ [fFlL]?
  ;
Character  : '\'' (~['\\\r\n] | '\\' .)+ '\'' ;
String     : '"' (~["\\\r\n] | '\\' .)* '"' ;

LineComment  : '//' ~[\r\n]* -> skip ;
BlockComment : '/*' .*? '*/' -> skip ;
Space        : [ \t\r\n\f]+ -> skip ;
Unknown      : . ;
