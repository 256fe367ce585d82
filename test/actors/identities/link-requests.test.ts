import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { countedRow, REQUESTS_MAX } from '#actors/identities/agenda.ts';
import { checkIdentities } from '#actors/identities/check-identities.ts';
import { IdentitiesTable } from '#actors/identities/identities-tables.ts';
import {
  ADDRESS_WINDOW_MS,
  CLIENT_WINDOW_MS,
  type LinkRequested,
  LINKS_WAITING_MAX,
  type RequestLink,
  type SentLink,
  type WaitingLink,
} from '#actors/identities/link-messages.ts';
import { callers } from '#test/support/host-fixture.ts';
import { IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';

const ann = 'ann@example.org';
const MINUTE = 60_000;

let real: IdentitiesFixture;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(() => real.begin());

let places = 0;

/** Asks from a place where nobody has asked before, unless told otherwise. */
function ask(more: Partial<RequestLink> = {}): Promise<LinkRequested> {
  places += 1;
  return real.send({
    type: 'RequestLink',
    email: ann,
    repository: 'blog',
    landing: 'https://www.example.org/',
    place: placeOf(`client ${places}`),
    ...more,
  });
}

const waiting = (): readonly WaitingLink[] => real.ask({ type: 'ListWaitingLinks' });

const limited = (seconds: number): object => ({
  code: 'RATE_LIMITED',
  details: { retry_after_seconds: seconds },
});

/** What a check of the stored rows finds. */
async function damage(): Promise<readonly string[]> {
  const found: string[] = [];
  await real.reading((file) => {
    for (const _ of checkIdentities(file, (table, what) => found.push(`${table}: ${what}`)));
  });
  return found;
}

describe('a request for a link', () => {
  it('waits to be sent, alike for an address with an account and for one without', async () => {
    await real.register(ann);
    const expiresMs = real.clock.wallMs() + 15 * MINUTE;
    expect(await ask()).toEqual({ minutes: 15 });
    real.clock.advance(1);
    expect(await ask({ email: ' Nobody@example.org', repository: null })).toEqual({ minutes: 15 });
    const [first, second] = waiting();
    expect([first, second]).toMatchObject([
      { email: ann, repository: 'blog', landing: 'https://www.example.org/' },
      { email: 'Nobody@example.org', repository: null },
    ]);
    expect(first?.expires_ms).toBe(expiresMs);
    expect(real.ask({ type: 'FindWaitingLink', id: first?.id ?? '' })).toEqual(first);
    expect(await damage()).toEqual([]);
  });

  it('is gone when it was sent, and after its time', async () => {
    await ask();
    const { id } = waiting()[0] as WaitingLink;
    await real.send({ type: 'EndLink', id });
    await real.send({ type: 'EndLink', id });
    expect(waiting()).toEqual([]);
    expect(real.ask({ type: 'FindWaitingLink', id })).toBeUndefined();
    await real.configure({ magic_link: { enabled: true, token_ttl_minutes: 2 } });
    expect(await ask()).toEqual({ minutes: 2 });
    real.clock.advance(2 * MINUTE);
    // The next request sweeps it.
    await ask({ email: 'ben@example.org' });
    expect(waiting()).toMatchObject([{ email: 'ben@example.org' }]);
    expect(await damage()).toEqual([]);
  });

  it('is refused while links are switched off, for what is no address, and for others than the engine', async () => {
    await expect(ask({ email: 'ann' })).rejects.toMatchObject({ code: 'INVALID_EMAIL' });
    await expect(ask({ place: 'here' })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    await expect(ask({ landing: 'x'.repeat(3_000) })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    for (const caller of [callers.admin, callers.anonymous]) {
      await expect(real.send({ type: 'EndLink', id: 'x' }, caller)).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
      expect(() => real.ask({ type: 'ListWaitingLinks' }, caller)).toThrow(
        expect.objectContaining({ code: 'FORBIDDEN' }) as Error,
      );
    }
    await real.configure({ magic_link: { enabled: false, token_ttl_minutes: 15 } });
    await expect(ask()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(waiting()).toEqual([]);
  });
});

describe('requests for one address', () => {
  it.each([
    ['with an account', true],
    ['without one', false],
  ])('%s are five in 15 minutes, whatever the client [MAGIC-004]', async (_title, hasAccount) => {
    if (hasAccount) await real.register(ann);
    for (let request = 0; request < 5; request += 1) {
      await ask({ email: request % 2 === 0 ? ann : 'ANN@Example.org' });
      real.clock.advance(MINUTE);
    }
    await expect(ask()).rejects.toMatchObject(limited(10 * 60));
    // A refused request does not count, so the first one to leave makes room.
    real.clock.advance(10 * MINUTE - 1);
    await expect(ask()).rejects.toMatchObject(limited(1));
    real.clock.advance(1);
    await ask();
    await expect(ask()).rejects.toMatchObject(limited(60));
    await ask({ email: 'ben@example.org' });
    expect(await damage()).toEqual([]);
  });

  it('count on when the address gets an account or loses it', async () => {
    for (let request = 0; request < 4; request += 1) await ask();
    const { identityId } = await real.register(ann);
    await ask();
    await expect(ask()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await real.send({ type: 'DeleteIdentity', identityId });
    await expect(ask()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await damage()).toEqual([]);
  });

  it('are forgotten after their time', async () => {
    await real.register(ann);
    await ask();
    real.clock.advance(Math.max(ADDRESS_WINDOW_MS, CLIENT_WINDOW_MS));
    for (let command = 0; command < 3; command += 1) await real.register(`other${command}@example.org`);
    expect(await real.rowsOf(IdentitiesTable.linkRequests)).toBe(0);
    expect(await damage()).toEqual([]);
  });

  it('are counted at once: of ten together five are taken', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => ask()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  it('do not lock an address out when the clock was set back', async () => {
    for (let request = 0; request < 5; request += 1) await ask();
    real.clock.setWall(real.clock.wallMs() - 2 * ADDRESS_WINDOW_MS);
    await ask();
  });
});

describe('requests of one client', () => {
  it('are twenty in an hour, whatever the address [MAGIC-004]', async () => {
    const place = placeOf('a client');
    for (let request = 0; request < 20; request += 1) await ask({ email: `a${request}@example.org`, place });
    real.clock.advance(20 * MINUTE);
    await expect(ask({ place })).rejects.toMatchObject(limited(40 * 60));
    await ask();
    real.clock.advance(40 * MINUTE);
    await ask({ email: 'z@example.org', place });
    expect(await damage()).toEqual([]);
  });

  it('make others be forgotten when there are too many, but not those for an address with an account', async () => {
    await real.register(ann);
    for (let request = 0; request < 5; request += 1) await ask();
    const other = 'nobody@example.org';
    for (let request = 0; request < 5; request += 1) await ask({ email: other });
    await expect(ask({ email: other })).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await real.importRows([
      countedRow('other-requests', REQUESTS_MAX),
      countedRow('client-requests', REQUESTS_MAX),
    ]);
    for (let request = 0; request < 3; request += 1) await ask({ email: `a${request}@example.org` });
    await expect(ask()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    // What was counted for it is gone. A request at once is counted again.
    for (let request = 0; request < 5; request += 1) await ask({ email: other });
    await expect(ask({ email: other })).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  });
});

describe('links that wait', () => {
  it('are bounded: further requests are refused, whether or not the address has an account', async () => {
    await real.register(ann);
    await real.importRows([countedRow('link', LINKS_WAITING_MAX)]);
    for (const email of [ann, 'nobody@example.org'])
      await expect(ask({ email })).rejects.toMatchObject({ code: 'OVERLOADED' });
  });
});

describe('a link that was sent', () => {
  const find = (tokenHash: string): SentLink | undefined => real.ask({ type: 'FindSentLink', tokenHash });

  it('says what it is good for as often as it is asked, until it is used or expires', async () => {
    await real.register(ann);
    const payload = { landing: 'https://www.example.org/', repository: 'blog' };
    const issue = (tokenHash: string, kind: 'magic_link' | 'password_reset' = 'magic_link') =>
      real.send({ type: 'IssueOneTimeToken', kind, email: ann, tokenHash, payload });
    await issue('link');
    await issue('reset', 'password_reset');
    expect([find('link'), find('link')]).toEqual([payload, payload]);
    for (const hash of ['reset', 'none', '', 'x'.repeat(9_999)]) expect(find(hash)).toBeUndefined();
    await real.open({ kind: 'magic_link', tokenHash: 'link' });
    expect(find('link')).toBeUndefined();
    await issue('another');
    real.clock.advance(15 * MINUTE);
    expect(find('another')).toBeUndefined();
  });
});
