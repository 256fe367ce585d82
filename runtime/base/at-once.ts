/** Runs work to its end without a rest: where it is known to be short, or nothing can wait for it. */
export function atOnce<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
