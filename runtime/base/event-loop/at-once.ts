/** Runs stepped work to its end without yielding: for work that is short, or that nothing can wait for. */
export function atOnce<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
