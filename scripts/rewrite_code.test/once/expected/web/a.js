log("a", ctx);
log("b", ctx);
run(log(log("c", ctx), ctx));
