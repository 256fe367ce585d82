/** Carries work out to its end. @returns what comes out, and how often the work could rest */
export function stepped<T>(work: Generator<undefined, T>): { readonly value: T; readonly rests: number } {
  for (let rests = 0; ; rests += 1) {
    const step = work.next();
    if (step.done === true) return { value: step.value, rests };
  }
}
