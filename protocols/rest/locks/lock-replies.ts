import type {
  LockGrant,
  LockRefused,
  LockReleased,
  LockRenewed,
  PoolClaim,
  PoolRelease,
} from '#actors/locks/messages.ts';
import type { HttpReply } from '#protocols/http/route.ts';

/*
 * The replies of locks and inventory, written out by hand: most are one of a few texts, and serializing the others as
 * JSON takes longer than all other work for them. The texts equal those of JSON.stringify for the same values.
 */

/** Characters that JSON does not escape: ASCII, without quotes, backslashes and controls. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

const refusedLock: HttpReply = Object.freeze({ status: 409, raw: '{"acquired":false}' });
const refusedClaim: HttpReply = Object.freeze({ status: 409, raw: '{"claimed":false}' });
const released: HttpReply = Object.freeze({ status: 200, raw: '{"released":true}' });
const notReleased: HttpReply = Object.freeze({ status: 200, raw: '{"released":false}' });
const renewed: HttpReply = Object.freeze({ status: 200, raw: '{"renewed":true}' });
const notRenewed: HttpReply = Object.freeze({ status: 200, raw: '{"renewed":false}' });

/** The reply of an acquire: 409 when another owner holds the lock. */
export function acquireReply(result: LockGrant | LockRefused): HttpReply {
  if (!result.acquired) return refusedLock;
  const { expires_at_ms: expiresAtMs, key, token } = result;
  const name = plain.test(key) ? `"${key}"` : JSON.stringify(key);
  const raw = `{"acquired":true,"key":${name},"token":${token},"expires_at_ms":${expiresAtMs}}`;
  return { status: 200, raw };
}

/** The reply of a release. */
export function releaseReply(result: LockReleased): HttpReply {
  return result.released ? released : notReleased;
}

/** The reply of a renewal. */
export function renewReply(result: LockRenewed): HttpReply {
  return result.renewed ? renewed : notRenewed;
}

/** The reply of a claim: 409 when fewer units remain. */
export function claimReply(result: PoolClaim): HttpReply {
  return result.claimed
    ? { status: 200, raw: `{"claimed":true,"remaining":${result.remaining}}` }
    : refusedClaim;
}

/** The reply of returned units. */
export function releaseUnitsReply({ remaining }: PoolRelease): HttpReply {
  return { status: 200, raw: `{"remaining":${remaining}}` };
}
