/** An error whose message is complete for the user; it is printed without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
}

/** The arguments are invalid. */
export class UsageError extends OperatorError {}
