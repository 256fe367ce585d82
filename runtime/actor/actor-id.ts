import { assert } from '#runtime/base/assert.ts';
import type { ActorId } from './ports.ts';

/** Builds an actor id. The last part is the kind. */
export function actorId(...parts: readonly string[]): ActorId {
  assert(parts.length >= 2 && parts.every((part) => part.length > 0), 'an actor id has an owner and a kind');
  return parts.map(encodeURIComponent).join('/');
}

/** The tenant that an actor id begins with. */
export function tenantOf(id: ActorId): string {
  return decodeURIComponent(id.slice(0, id.indexOf('/')));
}

/** The kind an actor id ends with. */
export function actorKindOf(id: ActorId): string {
  return decodeURIComponent(id.slice(id.lastIndexOf('/') + 1));
}
