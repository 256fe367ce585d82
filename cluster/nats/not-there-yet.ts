/**
 * Something a member needs for its start cannot be had at present: a server that does not answer, a stream without a
 * leader. It may come later without anybody changing the configuration of this member.
 */
export class NotThereYetError extends Error {
  /** @param message what is missing and what an operator does about it */
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'NotThereYetError';
  }
}
