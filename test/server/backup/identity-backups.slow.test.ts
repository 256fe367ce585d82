import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Identity, NewSession, OpenedSession, Registered } from '#actors/identities/messages.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BackupFixture, type StoredRows } from '#test/support/backup-fixture.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';

const ofDefault = 'default/identities';
const ofAcme = 'acme/identities';

let member: BackupFixture;

beforeEach(async () => {
  member = await BackupFixture.open();
});

afterEach(() => member.close());

function session(number: number): NewSession {
  return {
    sessionId: `session-${number}`,
    family: 'family',
    tokenHash: 'token',
    rememberMe: true,
    repository: null,
    userAgent: null,
    ipAddress: null,
    place: 'place-of-the-person',
  };
}

async function register(at: BackupFixture, actor: string, email: string): Promise<Registered> {
  await at.fixture.host.create(actor);
  return await at.fixture.command<Registered>(actor, {
    type: 'RegisterIdentity',
    email,
    passwordHash: 'hash',
    session: session(1),
  } as never);
}

function logIn(at: BackupFixture, actor: string, email: string): Promise<OpenedSession> {
  const proof = { kind: 'password', email, judged: 'hash' };
  return at.fixture.command<OpenedSession>(actor, {
    type: 'OpenSession',
    proof,
    session: session(2),
  } as never);
}

/** The rows that a restore keeps. */
const kept = (rows: StoredRows): StoredRows =>
  new Map([...rows].filter(([key]) => /^(identities|emails|providers|settings) /.test(key)));

describe('a backup of everything', () => {
  it('gives back who may log in and how, and ends every session and link', async () => {
    await member.provisioning.createTenant(
      {
        tenantId: 'acme',
        metadata: {},
        admin: { username: 'ada', email: null, passwordHash: 'hash of ada', mustChangePassword: false },
      },
      { caller: engineCaller('default') },
    );
    const ann = await register(member, ofDefault, 'ann@example.org');
    await register(member, ofAcme, 'ben@example.org');
    const magicLink = { enabled: true, token_ttl_minutes: 7 };
    await member.fixture.command(ofAcme, {
      type: 'ConfigureAuthentication',
      change: { magic_link: magicLink },
    } as never);
    await member.fixture.command(ofDefault, {
      type: 'IssueOneTimeToken',
      kind: 'password_reset',
      email: 'ann@example.org',
      tokenHash: 'link',
      payload: {},
    } as never);
    await member.backup({ name: 'all' });
    const stored = [await member.rows(ofDefault), await member.rows(ofAcme)].map(kept);
    // Where the configuration was changed: its row, and that of the issuers that links without one belong to.
    expect(stored.map((rows) => rows.size)).toEqual([2, 4]);

    const target = await BackupFixture.open({ folder: member.folder });
    try {
      expect(await target.restore({ backup: 'all' })).toMatchObject({ state: 'done', error: undefined });
      const { identity_id: identityId } = ann.identity;
      const found = target.fixture.query<Identity>(ofDefault, { type: 'FindIdentity', identityId } as never);
      expect(found).toEqual(ann.identity);
      const refreshed = await target.fixture.command(ofDefault, {
        type: 'RefreshSession',
        identityId,
        sessionId: 'session-1',
        family: 'family',
        generation: 1,
        tokenHash: 'token',
        nextTokenHash: 'next',
      } as never);
      expect(refreshed).toEqual({ isRefreshed: false, code: 'SESSION_NOT_FOUND' });
      const used = target.fixture.command(ofDefault, {
        type: 'UseOneTimeToken',
        kind: 'password_reset',
        tokenHash: 'link',
      } as never);
      await expect(used).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
      expect([await target.rows(ofDefault), await target.rows(ofAcme)].map(kept)).toEqual(stored);
      await logIn(target, ofDefault, 'ann@example.org');
      await logIn(target, ofAcme, 'ben@example.org');
    } finally {
      await target.close();
    }
  });

  it('is refused where people have registered, and loses none of them', async () => {
    await register(member, ofDefault, 'ann@example.org');
    await member.backup({ name: 'all' });
    const other = await BackupFixture.open({ folder: member.folder });
    try {
      await register(other, ofDefault, 'ben@example.org');
      await expect(other.restore({ backup: 'all' })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining("identities of tenant 'default'"),
      });
      await logIn(other, ofDefault, 'ben@example.org');
    } finally {
      await other.close();
    }
  });

  it('replaces the identities that an interrupted restore has left', async () => {
    await register(member, ofDefault, 'ann@example.org');
    await member.backup({ name: 'all' });
    let isFailing = true;
    const routerOver = (host: Router): Router => ({
      command: async (actor, command, delivery) => {
        // The last step: what lists everything.
        const { type } = command as { type: string };
        if (isFailing && type === 'ImportRows' && actor === 'default/tenant')
          throw new ServiceError('STORAGE_FULL');
        return await host.command(actor, command, delivery);
      },
      query: (actor, query, caller) => host.query(actor, query, caller),
    });
    const target = await BackupFixture.open({ folder: member.folder, routerOver });
    try {
      expect(await target.restore({ backup: 'all' })).toMatchObject({ state: 'failed' });
      isFailing = false;
      expect(await target.restore({ backup: 'all' })).toMatchObject({ state: 'done' });
      await logIn(target, ofDefault, 'ann@example.org');
    } finally {
      await target.close();
    }
  });

  it('with fewer identities than are there by an earlier restore leaves none of those', async () => {
    await member.backup({ name: 'none' });
    await register(member, ofDefault, 'ann@example.org');
    await member.backup({ name: 'one' });
    const target = await BackupFixture.open({ folder: member.folder });
    try {
      expect(await target.restore({ backup: 'one' })).toMatchObject({ state: 'done' });
      expect(await target.restore({ backup: 'none' })).toMatchObject({ state: 'done' });
      expect(await target.fixture.host.exists(ofDefault)).toBe(false);
    } finally {
      await target.close();
    }
  });
});
