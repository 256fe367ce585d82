import type { HeldLock, LockPrecondition } from '#actors/locks/messages.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { BodyFields } from '#protocols/http/requests/body-fields.ts';
import { readOnly } from '#protocols/http/requests/body-shape.ts';
import { decodeSegment } from '#protocols/http/requests/percent-decode.ts';
import type { ParameterDocs } from '#protocols/http/route.ts';
import type { RestContext } from './rest-context.ts';
import type { RestRequest } from './rest-route.ts';
import { singleHeader } from './single-header.ts';

/** Description of the header that every content write accepts. */
export const lockParameter: ParameterDocs = {
  name: 'X-Svc-Lock',
  in: 'header',
  description:
    '`{key};{token}`, the key percent-encoded: the write happens only while this lock is held with this fence token, else it is 409 `LOCK_NOT_HELD`. Bodies may say the same as `lock: {key, token}`.',
};

/** Schema of `lock`. The response of an acquire is accepted unchanged. */
export const lockSchema = {
  type: 'object',
  required: ['key', 'token'],
  description: 'The write happens only while this lock is held with this fence token.',
  properties: {
    key: { type: 'string' },
    token: { type: 'integer', minimum: 1 },
    ...readOnly({ acquired: { type: 'boolean' }, expires_at_ms: { type: 'integer' } }),
  },
  additionalProperties: false,
} as const;

const headerShape = /^(.+);([0-9]{1,16})$/;

/**
 * The optional member `lock: {key, token}` of a write.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`
 */
export function bodyLock(fields: BodyFields): LockPrecondition {
  const lock = fields.optionalFields('lock');
  return lock === undefined ? {} : { lock: { key: lock.string('key'), token: lock.integer('token') } };
}

/**
 * A command with the lock from the request's header, or from the body if the command has it already.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for an invalid header, and for a lock given twice; `LOCKS_DISABLED` when
 *   locks are disabled
 */
export function withLock<Command extends LockPrecondition>(
  context: RestContext,
  request: RestRequest,
  command: Command,
): Command {
  if (command.lock === undefined) {
    const lock = heldLock(context, request);
    return lock === undefined ? command : { ...command, lock };
  }
  if (!context.locks.isEnabled) throw new ServiceError('LOCKS_DISABLED');
  if (singleHeader(request, lockParameter.name) === undefined) return command;
  throw invalid('A write names its lock once: in the header X-Svc-Lock or in the body', { field: 'lock' });
}

/**
 * The lock from the header of a request.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for an invalid header; `LOCKS_DISABLED` when locks are disabled
 */
export function heldLock({ locks }: Pick<RestContext, 'locks'>, request: RestRequest): HeldLock | undefined {
  const header = singleHeader(request, lockParameter.name);
  if (header === undefined) return undefined;
  if (!locks.isEnabled) throw new ServiceError('LOCKS_DISABLED');
  return parseLockHeader(header);
}

/** @throws {ServiceError} `VALIDATION_FAILED` */
function parseLockHeader(header: string): HeldLock {
  const [, key = '', token = ''] = headerShape.exec(header) ?? [];
  if (key === '') throw invalid('X-Svc-Lock reads {key};{token}', { field: 'X-Svc-Lock' });
  return { key: decodeSegment(key, { allowSlash: true }), token: Number(token) };
}
