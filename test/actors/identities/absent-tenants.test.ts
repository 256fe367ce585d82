import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { countedRow, OTHER_ATTEMPTS_MAX, REQUESTS_MAX } from '#actors/identities/agenda.ts';
import { checkIdentities } from '#actors/identities/check-identities.ts';
import type { LinkRequested } from '#actors/identities/link-messages.ts';
import type { FailedLogin } from '#actors/identities/messages.ts';
import { callers } from '#test/support/host-fixture.ts';
import { IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';

const MINUTE = 60_000;
const ann = 'ann@example.org';
const place = placeOf('a stranger');

let real: IdentitiesFixture;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(() => real.begin());

interface Attempt {
  readonly tenant: string;
  readonly email: string;
  readonly place: string;
}

const first: Attempt = { tenant: 'none', email: ann, place };

const fail = (more: Partial<Attempt> = {}): Promise<FailedLogin> =>
  real.send({ type: 'CountAbsentLogin', ...first, ...more });

const lockedSeconds = (more: Partial<Attempt> = {}): number =>
  real.ask({ type: 'FindAbsentLock', ...first, ...more });

const ask = (more: Partial<Attempt> = {}): Promise<LinkRequested> =>
  real.send({ type: 'CountAbsentLink', ...first, ...more });

/** As {@link fail}, in the tenant of the actor, where nobody has the address. */
const failHere = (): Promise<FailedLogin> =>
  real.send({ type: 'CountFailedLogin', email: ann, place, judged: null });

async function damage(): Promise<readonly string[]> {
  const found: string[] = [];
  await real.reading((file) => {
    for (const _ of checkIdentities(file, (table, what) => found.push(`${table}: ${what}`)));
  });
  return found;
}

describe('a failed login in a tenant without identities', () => {
  it('is counted as one in a tenant in which nobody has the address', async () => {
    for (let failure = 0; failure < 8; failure += 1) {
      expect(await fail()).toEqual(await failHere());
      real.clock.advance(10_000);
    }
    expect(lockedSeconds({ email: 'ANN@Example.org', place: placeOf('another') })).toBe(15 * 60 - 40);
    real.clock.advance(15 * MINUTE - 40_000);
    expect(lockedSeconds()).toBe(0);
    expect(await fail()).toEqual(await failHere());
    expect(await fail()).toMatchObject({ outcome: 'locked' });
    expect(await damage()).toEqual([]);
  });

  it('counts for its tenant and address alone', async () => {
    for (let failure = 0; failure < 5; failure += 1) await fail();
    expect(lockedSeconds()).toBe(15 * 60);
    for (const other of [{ tenant: 'other' }, { email: 'ben@example.org' }])
      expect(lockedSeconds(other)).toBe(0);
    await real.register(ann, 'right', place);
    await real.logIn(ann, 'right', { place: placeOf('elsewhere') });
    for (let failure = 0; failure < 7; failure += 1)
      expect(await fail({ email: 'no address' })).toEqual({ outcome: 'counted', retryAfterSeconds: 0 });
    expect(lockedSeconds({ email: 'no address' })).toBe(0);
  });

  it('counts on when the tenant that counts it is meant itself, which has identities from then on', async () => {
    for (let failure = 0; failure < 3; failure += 1) await fail({ tenant: 'default' });
    for (const outcome of ['counted', 'counted', 'locked'])
      expect(await failHere()).toMatchObject({ outcome });
    await ask({ tenant: 'default' });
    const link = {
      type: 'RequestLink',
      repository: null,
      landing: 'https://www.example.org/',
      place,
    } as const;
    for (let request = 0; request < 4; request += 1) await real.send({ ...link, email: ann });
    await expect(real.send({ ...link, email: ann })).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await damage()).toEqual([]);
  });

  it('does not follow how people authenticate in the tenant that counts it', async () => {
    await real.configure({ rate_limiting: { lockout_threshold: 1, lockout_duration_minutes: 1 } });
    for (let failure = 0; failure < 5; failure += 1)
      expect(await fail()).toMatchObject({ outcome: 'counted' });
    expect(lockedSeconds()).toBe(15 * 60);
  });

  it('takes bounded space', async () => {
    await real.importRows([countedRow('other-attempts', OTHER_ATTEMPTS_MAX - 1)]);
    for (const tenant of ['one', 'two', 'three'])
      for (let failure = 0; failure < 5; failure += 1) await fail({ tenant });
    expect(['one', 'two', 'three'].map((tenant) => lockedSeconds({ tenant }))).toEqual([0, 0, 900]);
  });
});

describe('a request for a link in a tenant without identities', () => {
  it('is counted by address and by client, and nothing is sent', async () => {
    for (let request = 0; request < 5; request += 1)
      expect(await ask({ place: placeOf(`client ${request}`) })).toEqual({ minutes: 15 });
    const limited = (seconds: number) => ({
      code: 'RATE_LIMITED',
      details: { retry_after_seconds: seconds },
    });
    await expect(ask({ place: placeOf('client 5') })).rejects.toMatchObject(limited(15 * 60));
    for (let request = 0; request < 20; request += 1) await ask({ email: `a${request}@example.org` });
    await expect(ask({ email: 'b@example.org' })).rejects.toMatchObject(limited(60 * 60));
    await ask({ email: 'b@example.org', tenant: 'other', place: placeOf('client 6') });
    expect(real.ask({ type: 'ListWaitingLinks' })).toEqual([]);
    await expect(ask({ email: 'ann' })).rejects.toMatchObject({ code: 'INVALID_EMAIL' });
    expect(await damage()).toEqual([]);
  });

  it('makes no client of the tenant that counts it be forgotten', async () => {
    const link = {
      type: 'RequestLink',
      repository: null,
      landing: 'https://www.example.org/',
      place,
    } as const;
    for (let request = 0; request < 20; request += 1)
      await real.send({ ...link, email: `a${request}@example.org` });
    await real.importRows([countedRow('other-requests', REQUESTS_MAX)]);
    for (let client = 0; client < 30; client += 1)
      await ask({ tenant: `t${client}`, place: placeOf(`${client}`) });
    await expect(real.send({ ...link, email: 'late@example.org' })).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    });
  });
});

it('only the engine asks and counts', async () => {
  for (const caller of [callers.admin, callers.anonymous]) {
    for (const type of ['CountAbsentLogin', 'CountAbsentLink'] as const)
      await expect(real.send({ type, ...first }, caller)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(() => real.ask({ type: 'FindAbsentLock', ...first }, caller)).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN' }) as Error,
    );
  }
});
