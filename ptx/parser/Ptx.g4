// The statements of a PTX function body, by structure: the grammar knows no opcodes.
//
// The parser parses one statement at a time; braces of nested scopes are separate statements, so nothing
// recurses. The rule `body` lets prediction know what may follow a statement.
grammar Ptx;

body : statement* EOF ;

statement
  : instruction
  | label
  | targetList
  | prototype
  | registerDeclaration
  | variableDeclaration
  | location
  | sourceFile
  | pragma
  | section
  | otherDirective
  | scopeBegin
  | scopeEnd
  | empty
  ;

scopeBegin : '{' ;
scopeEnd   : '}' ;
empty      : ';' ;
label      : WORD ':' ;

// ---- instructions: add.s32 / @%p ld.global.v2.f32 {a, b}, [p+8] / call.uni (r), f, (x, y), proto

instruction : guard? opcode operands? ';' ;
guard       : '@' '!'? WORD ;
opcode      : WORD (bank? modifier)* ;       // a bank: ld.const[2].u32, PTX before 2.2
bank        : '[' INTEGER ']' ;
modifier    : DIRECTIVE | SPACE | LINKAGE | REG ;
operands    : operand (',' operand)* ;

// The grammar parses `(4*2)` as a list of one; outside calls the conversion treats it as the number.
operand
  : list
  | WORD element
  | value ('|' value)?
  | vector ('|' value)?
  | address
  ;

element : '[' value ']' ;                    // a[1] or a[%r1+2], an array element
vector  : '{' value (',' value)* '}' ;
address : '[' addressPart (',' addressPart)* ']' ;
addressPart : value | vector ;
list    : '(' (addressPart (',' addressPart)*)? ')' ;

// A name, a name with an addend, a literal, or a constant expression, in which the only name is WARP_SZ.
// Precedence does not matter here: constant_expression.cpp evaluates expressions from the text.
value    : term (binaryOperator term)* ;
term     : (sign | '(' DIRECTIVE ')')* (WORD component? | INTEGER | FLOAT | '(' inner ')') ;
component : DIRECTIVE ;                      // %tid .x, with white space
inner    : term ((binaryOperator | '|') term)* ;
sign     : '!' | '-' | '+' | '~' ;
binaryOperator : '+' | '-' | '*' | '/' | '&' | '^' | '<<' | '>>' | '<' | '>' | '<=' | '>=' | '==' | '!='
               | '&&' | '||' | '?' | ':' ;

// ---- names of branch and call targets

targetList : WORD ':' (BRANCHTARGETS | CALLTARGETS) WORD (',' WORD)* ';' ;
prototype  : WORD ':' CALLPROTOTYPE (~';')* ';' ;

// ---- declarations; declaration.cpp parses those of variables, as at module level

registerDeclaration : REG (DIRECTIVE | ALIGN INTEGER)+ registerName (',' registerName)* ';' ;
registerName        : WORD ('<' INTEGER '>')? ;
variableDeclaration : (SPACE | LINKAGE) (~';')* ';' ;

// ---- directives

location    : LOC INTEGER INTEGER INTEGER (',' locationPart)* ;
locationPart : WORD WORD (('+' | '-') '-'? INTEGER)?   // function_name label+4
             | WORD INTEGER INTEGER INTEGER ;          // inlined_at 1 20 3
sourceFile  : FILE INTEGER STRING (',' INTEGER ',' INTEGER)? ;
pragma      : PRAGMA STRING (',' STRING)* ';' ;
section     : SECTION (DIRECTIVE | WORD) '{' (~'}')* '}' ;
otherDirective : DIRECTIVE (~(';' | '{' | '}'))* ';' ;

// ---- tokens

REG           : '.reg' ;
SPACE         : '.local' | '.shared' | '.param' | '.global' | '.const' | '.tex' | '.sreg' ;
LINKAGE       : '.extern' | '.visible' | '.weak' | '.common' ;
ALIGN         : '.align' ;
BRANCHTARGETS : '.branchtargets' ;
CALLTARGETS   : '.calltargets' ;
CALLPROTOTYPE : '.callprototype' ;
LOC           : '.loc' ;
FILE          : '.file' ;
PRAGMA        : '.pragma' ;
SECTION       : '.section' ;
DIRECTIVE     : '.' IDENTIFIER ('::' SEGMENT)* ;

// Opcodes with modifiers, identifiers, special registers with a dimension and component selectors are one
// token type.
WORD : IDENTIFIER (('.' | '::') SEGMENT)* ;

INTEGER : ('0' [xX] HEX+ | '0' [bB] [01]+ | [0-9]+) 'U'? ;
FLOAT   : '0' [fFdD] HEX+ | [0-9]+ '.' [0-9]* EXPONENT? | '.' [0-9]+ EXPONENT? | [0-9]+ EXPONENT ;
STRING  : '"' (~["\\\r\n] | '\\' .)* '"' ;

fragment IDENTIFIER : [a-zA-Z_$%] [a-zA-Z0-9_$]* ;
fragment SEGMENT    : [a-zA-Z0-9_$]+ ;
fragment HEX        : [0-9a-fA-F] ;
fragment EXPONENT   : [eE] [+-]? [0-9]+ ;

SPACES        : [ \t\r\n\f\u000B]+ -> skip ;
LINE_COMMENT  : '//' ~[\n]* -> skip ;
BLOCK_COMMENT : '/*' .*? '*/' -> skip ;
LINE_MARKER   : '#' [ \t]* ('line' [ \t]*)? [0-9]+ [ \t]+ '"' ~["\n]* '"' [ \t\r0-9]* -> skip ;
UNKNOWN       : . ;
