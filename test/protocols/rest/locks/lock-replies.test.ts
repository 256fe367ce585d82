import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  acquireReply,
  claimReply,
  releaseReply,
  releaseUnitsReply,
  renewReply,
} from '#protocols/rest/locks/lock-replies.ts';

const whole = fc.nat({ max: Number.MAX_SAFE_INTEGER });

describe('replies of locks and inventory', () => {
  it('write a grant as JSON.stringify does, for any name of the lock', () => {
    const names = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string(),
      fc.constantFrom('"', '\\', 'é', '\u2028'),
    );
    fc.assert(
      fc.property(names, whole, whole, (key, token, expiresAtMs) => {
        const grant = { acquired: true, key, token, expires_at_ms: expiresAtMs } as const;
        expect(acquireReply(grant)).toEqual({ status: 200, raw: JSON.stringify(grant) });
      }),
    );
  });

  it('write units as JSON.stringify does', () => {
    fc.assert(
      fc.property(whole, (remaining) => {
        const claim = { claimed: true, remaining } as const;
        expect(claimReply(claim)).toEqual({ status: 200, raw: JSON.stringify(claim) });
        expect(releaseUnitsReply({ remaining })).toEqual({ status: 200, raw: JSON.stringify({ remaining }) });
      }),
    );
  });

  it.each([
    [409, { acquired: false }, acquireReply({ acquired: false })],
    [409, { claimed: false }, claimReply({ claimed: false })],
    [200, { released: true }, releaseReply({ released: true })],
    [200, { released: false }, releaseReply({ released: false })],
    [200, { renewed: true }, renewReply({ renewed: true })],
    [200, { renewed: false }, renewReply({ renewed: false })],
  ])('answers %i with %j', (status, said, reply) => {
    expect(reply).toEqual({ status, raw: JSON.stringify(said) });
  });
});
