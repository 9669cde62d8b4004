const a = 1;
var b = f();
// ast-grep-ignore: no-var
var c = 2;
debugger;
