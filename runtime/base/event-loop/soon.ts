/** Available at once if nothing has to be awaited, which is the hot path: a promise costs a turn of the event loop. */
export type Soon<T> = T | Promise<T>;

/** Continues with a value, within the present turn if it is available already. */
export function afterwards<T, Result>(value: Soon<T>, next: (value: T) => Soon<Result>): Soon<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Runs `first`; its errors, synchronous or asynchronous, are passed to `otherwise`. */
export function recovering<T>(first: () => Soon<T>, otherwise: (error: unknown) => Soon<T>): Soon<T> {
  try {
    const value = first();
    return value instanceof Promise ? value.catch(otherwise) : value;
  } catch (error) {
    return otherwise(error);
  }
}
