import { errorRegistry, type ErrorCode, type ErrorEntry } from './error-registry.ts';

/** Facts of an error, as fields instead of text in its message. */
export interface ErrorFacts {
  /** The invalid body field, dotted (`node_type.properties.0.name`). */
  readonly field?: string;
  /** Further data a client can act on; plain JSON. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The underlying error; kept for the log, never sent. */
  readonly cause?: unknown;
}

/** Longest message and field name, in UTF-16 units: they may quote input, which may be as long as a body. */
const MESSAGE_LENGTH_MAX = 4_096;

function shortened(message: string): string {
  return message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX - 1)}…` : message;
}

/**
 * An error for a caller: a code of the registry, a message for a person, facts as fields. Any other error becomes
 * `INTERNAL_SERVER_ERROR` in the protocol layer, with its cause in the log only.
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

  /** The registry's entry of this error's code. */
  get entry(): ErrorEntry {
    return errorRegistry[this.code];
  }
}

/** Shorthand for the most frequent caller error: an invalid value. @returns `VALIDATION_FAILED` (400) */
export function invalid(message: string, facts: ErrorFacts = {}): ServiceError {
  return new ServiceError('VALIDATION_FAILED', message, facts);
}

/**
 * The error for a node that is missing or that the caller may not read: both must look the same.
 *
 * @param place as the caller named the node: the path of a node requested by id may be confidential
 * @see docs/interface/conventions.md#answers
 */
export function nodeNotFound(place: { readonly path: string } | { readonly id: string }): ServiceError {
  const named = 'path' in place ? `at path '${place.path}'` : `with id '${place.id}'`;
  return new ServiceError('NODE_NOT_FOUND', `Node ${named} not found`);
}

/**
 * The error for a command that changes too much at once. What helps depends on the command, so it names all of it.
 *
 * @param bound what one commit may do
 */
export function commitTooLarge(bound: string): ServiceError {
  const remedy = 'Do it in parts: fewer operations, smaller subtrees or fewer revisions at a time.';
  return new ServiceError('COMMIT_TOO_LARGE', `One commit may ${bound}. ${remedy}`);
}

/**
 * Whether an error means damaged data, so that a retry is useless: `DATA_CORRUPTED` without details. Errors of the log
 * have details that name the record. Then nothing may be discarded, because the shards may be the only copy left.
 */
export function isDamage(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'DATA_CORRUPTED' && error.details === undefined;
}
