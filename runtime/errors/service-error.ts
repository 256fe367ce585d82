import { errorRegistry, type ErrorCode, type ErrorEntry } from './error-registry.ts';

/** Facts that travel with an error, as fields instead of inside its message. */
export interface ErrorFacts {
  /** The body field at fault, dotted (`node_type.properties.0.name`). */
  readonly field?: string;
  /** Anything else a client can act on; plain JSON. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** What led to it; kept for the log, never sent. */
  readonly cause?: unknown;
}

/** Longest message and name of a field, in UTF-16 units: they may quote what was sent, which may be as long as a body. */
const MESSAGE_LENGTH_MAX = 4_096;

function shortened(message: string): string {
  return message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX - 1)}…` : message;
}

/**
 * An error a caller is meant to see: a code of the registry, a message for a person, facts as fields.
 * Anything else that is thrown becomes `INTERNAL_SERVER_ERROR` at the edge, with its cause in the log only.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message?: string, facts: ErrorFacts = {}) {
    super(
      shortened(message ?? errorRegistry[code].title),
      'cause' in facts ? { cause: facts.cause } : undefined,
    );
    this.code = code;
    this.field = facts.field === undefined ? undefined : shortened(facts.field);
    this.details = facts.details;
  }

  /** What the registry says of this error's code. */
  get entry(): ErrorEntry {
    return errorRegistry[this.code];
  }
}

/** Shorthand for the commonest caller error: a bad value. @returns `VALIDATION_FAILED` (400) */
export function invalid(message: string, facts: ErrorFacts = {}): ServiceError {
  return new ServiceError('VALIDATION_FAILED', message, facts);
}

/**
 * The one answer for a node that is missing or that the caller may not read: both must look the same.
 *
 * @param place as the caller named the node: where a node asked for by its id stands is not for everybody to know
 * @see docs/interface/conventions.md#answers
 */
export function nodeNotFound(place: { readonly path: string } | { readonly id: string }): ServiceError {
  const named = 'path' in place ? `at path '${place.path}'` : `with id '${place.id}'`;
  return new ServiceError('NODE_NOT_FOUND', `Node ${named} not found`);
}

/**
 * Whether what is stored cannot be trusted, so that trying again would be of no use: `DATA_CORRUPTED` without details.
 * Errors about the log say in theirs at which record it was: then nothing may be thrown away, for the shards may be
 * all there is.
 */
export function isDamage(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'DATA_CORRUPTED' && error.details === undefined;
}
