import type { ParameterDocs } from '#protocols/http/route.ts';
import { lockParameter } from './lock-precondition.ts';
import { isRead } from './reads/read-consistency.ts';
import type { RestRoute } from './rest-route.ts';
import { withParameters } from './with-parameters.ts';

const idempotencyParameter: ParameterDocs = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A text of up to 255 characters, chosen by the caller. A write that is repeated with the same key takes effect once, and each repetition gets the first answer.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

function toWrites(routes: readonly RestRoute[], added: readonly ParameterDocs[]): readonly RestRoute[] {
  return routes.map((route) =>
    isRead(route) || route.auth === 'none' ? route : withParameters(route, added),
  );
}

/** Adds `Idempotency-Key`, which every write accepts, to the description of the writes among the routes. */
export function withIdempotency(routes: readonly RestRoute[]): readonly RestRoute[] {
  return toWrites(routes, [idempotencyParameter]);
}

/** Adds `X-Svc-Lock`, which every write of content accepts, to the description of the writes among the routes. */
export function withLocks(routes: readonly RestRoute[]): readonly RestRoute[] {
  return toWrites(routes, [lockParameter]);
}
