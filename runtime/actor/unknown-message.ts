import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Refuses a message of a type that this version does not know. The types exclude it, but a member of another version
 * may have sent it, so this is not an invariant error.
 *
 * @throws {ServiceError} `MEMBER_VERSIONS_DIFFER`
 */
export function unknownMessage(message: never): never {
  const { type } = message as { readonly type?: unknown };
  throw new ServiceError('MEMBER_VERSIONS_DIFFER', `This member does not know the message '${String(type)}'`);
}
