import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IdentitiesTable } from '#actors/identities/identities-tables.ts';
import {
  type AccessEntry,
  type AccessPage,
  type AccessStatus,
  INVITED_MAX,
  type InviteToRepository,
  PENDING_MAX,
} from '#actors/identities/people-messages.ts';
import { defaultAuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { callers } from '#test/support/host-fixture.ts';
import { IdentitiesFixture } from '#test/support/identities-fixture.ts';

const ann = 'ann@example.org';
const site = 'site~0123456789';
const other = 'other~0123456789';
const DAY = 24 * 60 * 60 * 1000;

let real: IdentitiesFixture;
let identityId: string;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(async () => {
  await real.begin();
  ({ identityId } = await real.register(ann));
});

function request(who = identityId, repository = site, message: string | null = null): Promise<AccessEntry> {
  // Ids of one millisecond have no order.
  real.clock.advance(1);
  return real.send({ type: 'RequestAccess', repository, identityId: who, message, roles: ['editor'] });
}

const decide = (id: string, decision: 'active' | 'denied', repository = site): Promise<AccessEntry> =>
  real.send({ type: 'DecideAccess', repository, id, decision, reason: 'because', by: 'admin' });

const invite = (email: string, more: Partial<InviteToRepository> = {}): Promise<AccessEntry> =>
  real.send({
    type: 'InviteToRepository',
    repository: site,
    email,
    roles: ['editor'],
    message: 'welcome',
    days: 7,
    by: 'admin',
    ...more,
  });

const list = async (status?: AccessStatus, repository = site, offset = 0, limit = 100): Promise<AccessPage> =>
  await real.ask<Promise<AccessPage>>({
    type: 'ListAccess',
    repository,
    offset,
    limit,
    ...(status === undefined ? {} : { status }),
  });

const invitation = (who = identityId, repository = site): AccessEntry | undefined =>
  real.ask({ type: 'FindInvitation', repository, identityId: who });

const verify = (isVerified = true): Promise<unknown> =>
  real.send({ type: 'UpdateIdentity', identityId, changes: { email_verified: isVerified } });

describe('a request for access', () => {
  it('is pending once, and repeated it keeps its id and its time', async () => {
    const first = await request();
    expect(first).toMatchObject({
      repository: site,
      identity_id: identityId,
      email: null,
      status: 'pending',
      requested_roles: ['editor'],
      decided_by: null,
    });
    real.clock.advance(1_000);
    const again = await request(identityId, site, 'please');
    expect(again).toEqual({ ...first, message: 'please', updated_at: again.updated_at });
    expect(Date.parse(again.updated_at) - Date.parse(first.updated_at)).toBe(1_001);
    expect(await list()).toEqual({ entries: [again], total: 1 });
    expect(await list(undefined, other)).toEqual({ entries: [], total: 0 });
  });

  it('is decided once; deciding it in the same way again changes nothing', async () => {
    const { id } = await request();
    expect(real.ask({ type: 'FindAccess', repository: other, id })).toBeUndefined();
    const granted = await decide(id, 'active');
    expect(granted).toMatchObject({ id, status: 'active', decided_by: 'admin', reason: 'because' });
    expect(await decide(id, 'active')).toEqual(granted);
    await expect(decide(id, 'denied')).rejects.toMatchObject({ code: 'CONFLICT' });
    await expect(decide(id, 'active', other)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(decide('none', 'active')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(real.ask({ type: 'FindAccess', repository: site, id })).toEqual(granted);
  });

  it('that was denied may be made again, and is then another one', async () => {
    const { id } = await request();
    await decide(id, 'denied');
    const next = await request();
    expect(next).toMatchObject({ status: 'pending', reason: null, decided_by: null });
    expect(next.id).not.toBe(id);
    expect((await list()).entries).toEqual([next]);
    await expect(decide(id, 'active')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is refused where the tenant allows none, and to people who are not there or deactivated', async () => {
    await real.configure({
      access_settings: { ...defaultAuthConfiguration.access_settings, allow_access_requests: false },
    });
    await expect(request()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await real.configure({ access_settings: defaultAuthConfiguration.access_settings });
    await expect(request('nobody')).rejects.toMatchObject({ code: 'IDENTITY_NOT_FOUND' });
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
    await expect(request()).rejects.toMatchObject({ code: 'ACCOUNT_DISABLED' });
  });

  it('finds room for a hundred of a repository, also after some were decided or have ended', async () => {
    const ids: string[] = [];
    for (let each = 0; each < PENDING_MAX; each += 1) {
      const { identityId: who } = await real.register(`p${each}@example.org`);
      ids.push((await request(who)).id);
    }
    await expect(request()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await request(identityId, other)).toMatchObject({ status: 'pending' });
    await decide(ids[0] as string, 'denied');
    const mine = await request();
    expect((await list('pending', site, 0, 2)).entries.map(({ id }) => id)).toEqual([mine.id, ids.at(-1)]);
    expect(await list('pending', site, 99, 2)).toMatchObject({
      entries: [{ id: ids[1] }],
      total: PENDING_MAX,
    });
    real.clock.advance(90 * DAY);
    expect(await list()).toEqual({ entries: [], total: 0 });
    await expect(decide(mine.id, 'active')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await request()).toMatchObject({ status: 'pending' });
  });

  it('leaves nothing behind when it has ended or its person is removed', async () => {
    const { id } = await request();
    await decide(id, 'active');
    await invite('ben@example.org');
    real.clock.advance(90 * DAY);
    // Two of each kind are removed with a command that adds something.
    await request(identityId, other);
    expect(await real.rowsOf(IdentitiesTable.access)).toBe(1);
    expect(await real.rowsOf(IdentitiesTable.accessIndex)).toBe(1);
    await real.send({ type: 'DeleteIdentity', identityId });
    expect(await real.rowsOf(IdentitiesTable.access)).toBe(0);
    expect(await real.rowsOf(IdentitiesTable.accessIndex)).toBe(0);
  });
});

describe('an invitation', () => {
  it('is for whoever has proven the address, in any letter case', async () => {
    await invite('Ann@Example.org');
    expect(invitation()).toBeUndefined();
    await verify();
    expect(invitation()).toMatchObject({
      status: 'invited',
      requested_roles: ['editor'],
      message: 'welcome',
    });
    expect(invitation(identityId, other)).toBeUndefined();
    expect(invitation('nobody')).toBeUndefined();
    await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
    expect(invitation()).toBeUndefined();
  });

  it('looks the same whether or not there is an account', async () => {
    const [known, unknown] = [await invite(ann), await invite('nobody@example.org')];
    expect({ ...known, id: '', email: '' }).toEqual({ ...unknown, id: '', email: '' });
  });

  it('is replaced by another one, and ends at its time, when it is used, or when it is withdrawn', async () => {
    await verify();
    const first = await invite(ann);
    const second = await invite(ann, { roles: ['viewer'], days: 1 });
    expect(second).toMatchObject({ id: first.id, requested_roles: ['viewer'] });
    expect(await list('invited')).toMatchObject({ total: 1 });
    real.clock.advance(DAY - 1);
    expect(invitation()).toEqual(second);
    real.clock.advance(1);
    expect(invitation()).toBeUndefined();
    const third = await invite(ann);
    expect(third.id).not.toBe(first.id);
    await decide(third.id, 'active');
    expect(invitation()).toBeUndefined();
    const fourth = await invite(ann);
    await decide(fourth.id, 'denied');
    expect(invitation()).toBeUndefined();
  });

  it('is found until its use has ended, and stays as it was taken', async () => {
    const take = (): Promise<AccessEntry | null> =>
      real.send({ type: 'TakeInvitation', repository: site, identityId });
    const { id } = await invite(ann);
    expect(await take()).toBeNull();
    await verify();
    const taken = await take();
    expect(taken).toMatchObject({ id, status: 'active', requested_roles: ['editor'] });
    expect(taken).not.toHaveProperty('taken_ms');
    real.clock.advance(50_000);
    expect([await take(), invitation()]).toEqual([taken, taken]);
    // Withdrawing it would come too late, unless whoever took it has died.
    real.clock.advance(59_999);
    await expect(decide(id, 'denied')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'The request is granted already',
    });
    expect(await decide(id, 'active')).toMatchObject({ id, status: 'active', decided_by: 'admin' });
    expect([await take(), invitation()]).toEqual([null, undefined]);
    await expect(decide(id, 'denied')).rejects.toMatchObject({ code: 'CONFLICT' });
    real.clock.advance(60_000);
    await expect(decide(id, 'denied')).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('that nobody uses to the end can be withdrawn, replaced and revoked, and ends at its time', async () => {
    const take = (): Promise<AccessEntry | null> =>
      real.send({ type: 'TakeInvitation', repository: site, identityId });
    await verify();
    const first = await invite(ann);
    await take();
    const second = await invite(ann, { roles: ['viewer'] });
    expect(second.id).not.toBe(first.id);
    // Whoever has taken the first one has it; the second one waits for the next login.
    await expect(decide(first.id, 'active')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await take()).toMatchObject({ id: second.id, requested_roles: ['viewer'] });
    real.clock.advance(60_000);
    expect(await decide(second.id, 'denied')).toMatchObject({ status: 'denied' });
    expect(await take()).toBeNull();
    const third = await invite(ann);
    await take();
    await real.send({ type: 'EndInvitation', repository: site, identityId, reason: null, by: 'boss' });
    expect((await list('denied')).entries).toMatchObject([{ id: third.id, decided_by: 'boss' }]);
    expect(await take()).toBeNull();
    await invite(ann, { days: 1 });
    await take();
    real.clock.advance(DAY);
    expect([await take(), invitation()]).toEqual([null, undefined]);
  });

  it('ends when the access of the person is revoked, whether or not the address is proven [ACCESSREQ-006]', async () => {
    const end = (who = identityId, repository = site): Promise<unknown> =>
      real.send({ type: 'EndInvitation', repository, identityId: who, reason: 'left', by: 'boss' });
    const { id } = await invite(ann.toUpperCase());
    await invite('ben@example.org');
    await invite(ann, { repository: other });
    await end('nobody');
    await end();
    await end();
    expect((await list('denied')).entries).toMatchObject([{ id, reason: 'left', decided_by: 'boss' }]);
    expect(await list('invited')).toMatchObject({ total: 1, entries: [{ email: 'ben@example.org' }] });
    expect(await list('invited', other)).toMatchObject({ total: 1 });
    await verify();
    expect(invitation()).toBeUndefined();
    const next = await invite(ann);
    expect(invitation()).toEqual(next);
    real.clock.advance(7 * DAY);
    await end();
    expect((await list('denied')).entries).toMatchObject([]);
  });

  it('is refused where the tenant allows none, without an address, for too long, and above a number', async () => {
    await expect(invite('nonsense')).rejects.toMatchObject({ code: 'INVALID_EMAIL' });
    for (const days of [0, 91, 1.5, Number.NaN])
      await expect(invite(ann, { days })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    for (let each = 0; each < INVITED_MAX; each += 1) await invite(`p${each}@example.org`);
    await expect(invite(ann)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(await invite('p0@example.org')).toMatchObject({ status: 'invited' });
    await real.configure({
      access_settings: { ...defaultAuthConfiguration.access_settings, allow_invitations: false },
    });
    await expect(invite('p0@example.org')).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('what people have in repositories', () => {
  it('is for the engine only, which decides who may', async () => {
    const { id } = await request();
    for (const command of [
      { type: 'RequestAccess', repository: site, identityId, message: null, roles: [] },
      { type: 'DecideAccess', repository: site, id, decision: 'active', reason: null, by: 'x' },
      {
        type: 'InviteToRepository',
        repository: site,
        email: ann,
        roles: [],
        message: null,
        days: 1,
        by: 'x',
      },
      { type: 'EndInvitation', repository: site, identityId, reason: null, by: 'x' },
      { type: 'TakeInvitation', repository: site, identityId },
      { type: 'NoteStatusChange', identityId, changeId: '', after: '', done: 0 },
      { type: 'EndStatusChange', identityId, changeId: '' },
    ] as const)
      for (const caller of [callers.admin, callers.anonymous])
        await expect(real.send(command, caller)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    for (const query of [
      { type: 'FindAccess', repository: site, id },
      { type: 'FindInvitation', repository: site, identityId },
      { type: 'ListAccess', repository: site, offset: 0, limit: 1 },
      { type: 'ListStatusChanges' },
    ] as const)
      expect(() => real.ask(query, callers.admin)).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
  });

  it('is listed in pages of a bounded size', async () => {
    for (const page of [
      { offset: 0, limit: 0 },
      { offset: 0, limit: 101 },
      { offset: -1, limit: 1 },
    ])
      await expect(
        real.ask<Promise<unknown>>({ type: 'ListAccess', repository: site, ...page }),
      ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});
