/**
 * A resource that a member needs for its start is not available at present: a server does not answer, or a stream has
 * no leader. It may become available without a change to the configuration of this member.
 */
export class NotThereYetError extends Error {
  /** @param message names the missing resource and what an operator can do */
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'NotThereYetError';
  }
}
