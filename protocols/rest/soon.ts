/** At once where nothing has to be waited for, which is the hot path: a promise costs a turn of the event loop. */
export type Soon<T> = T | Promise<T>;

/** Goes on with a value, within the present turn if it is there already. */
export function afterwards<T, Result>(value: Soon<T>, next: (value: T) => Soon<Result>): Soon<Result> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Runs `first`; what it throws, now or later, goes to `otherwise`. */
export function recovering<T>(first: () => Soon<T>, otherwise: (error: unknown) => Soon<T>): Soon<T> {
  try {
    const value = first();
    return value instanceof Promise ? value.catch(otherwise) : value;
  } catch (error) {
    return otherwise(error);
  }
}
