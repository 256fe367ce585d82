import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * A message of a type this version does not have. The types say that there is none, but a member of another version
 * may have sent it, so it is refused and breaks no invariant.
 *
 * @throws {ServiceError} `MEMBER_VERSIONS_DIFFER`
 */
export function unknownMessage(message: never): never {
  const { type } = message as { readonly type?: unknown };
  throw new ServiceError('MEMBER_VERSIONS_DIFFER', `This member does not know the message '${String(type)}'`);
}
