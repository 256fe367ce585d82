/** A problem with words for the person at the terminal; nothing else is to be said. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** The question could not be asked, in words. */
export class UsageError extends OperatorError {}
