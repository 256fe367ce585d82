import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FirstAdmin, RepositoryEntry } from '#actors/tenant/messages.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { OwnerIntentFiles, type OwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { IdempotencyKey } from '#runtime/commit/behaviour.ts';
import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { farRouter, type LostAnswers, losingAnswers } from '#test/support/answer-losing-router.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

const admin: FirstAdmin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false };

const blog = {
  repositoryId: 'blog',
  description: null,
  defaultBranch: 'feature/one',
  defaultLanguage: 'en',
  supportedLanguages: [],
};

let fixture: HostFixture;
let provisioning: MemberProvisioning;
let unsettled: OwnerIntents;

beforeEach(async () => {
  fixture = await HostFixture.open();
  unsettled = new OwnerIntentFiles(join(fixture.folder, 'unsettled'));
  provisioning = new MemberProvisioning(fixture.host, fixture.host, systemRandom, unsettled);
  expect(await provisioning.bootstrap(() => Promise.resolve(admin))).toBe(true);
});

afterEach(() => fixture.close());

function create(idempotency?: IdempotencyKey): Promise<RepositoryEntry> {
  const delivery = { caller: callers.admin, ...(idempotency === undefined ? {} : { idempotency }) };
  return provisioning.createRepository('default', blog, delivery);
}

function failed(owner: string, cause: unknown): never {
  throw new Error(owner, { cause });
}

function parts(): string[] {
  return fixture.host.namesUnder('default').filter((name) => name.includes('~'));
}

describe('MemberProvisioning', () => {
  it('makes the system tenant once, asking for its administrator only then', async () => {
    const never = () => Promise.reject(new ServiceError('INTERNAL_SERVER_ERROR'));
    expect(await provisioning.bootstrap(never)).toBe(false);
  });

  it('makes no registry in the place of one that is only missing', async () => {
    const empty = await HostFixture.open();
    try {
      const lost = new ServiceError('LOG_UNAVAILABLE');
      const refused = new MemberProvisioning(empty.host, empty.host, systemRandom, undefined, () =>
        Promise.reject(lost),
      );
      await expect(refused.bootstrap(() => Promise.resolve(admin))).rejects.toBe(lost);
      expect(empty.host.exists(actorId('default', 'tenant'))).toBe(false);
      // It is not asked of one that is there.
      const known = new MemberProvisioning(fixture.host, fixture.host, systemRandom, undefined, () =>
        Promise.reject(lost),
      );
      expect(await known.isBootstrapped()).toBe(true);
    } finally {
      await empty.close();
    }
  });

  it('makes a repository whose branch may have a slash in its name', async () => {
    const { uid } = await create();
    expect(parts()).toEqual([`blog~${uid}`]);
    const actor = `default/blog~${uid}/repository`;
    expect(fixture.query(actor, { type: 'FindBranch', name: 'feature/one' } as never)).toMatchObject({
      name: 'feature/one',
    });
    expect(fixture.host.namesUnder(`default/blog~${uid}`)).toHaveLength(2);
  });

  it('leaves nothing of a creation that is refused', async () => {
    await create();
    await expect(create()).rejects.toMatchObject({ code: 'REPOSITORY_ALREADY_EXISTS' });
    const racing = await Promise.allSettled(
      Array.from({ length: 5 }, () =>
        provisioning.createRepository(
          'default',
          { ...blog, repositoryId: 'race' },
          { caller: callers.admin },
        ),
      ),
    );
    expect(racing.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    expect(parts().map((part) => part.split('~')[0])).toEqual(expect.arrayContaining(['blog', 'race']));
    expect(parts()).toHaveLength(2);
  });

  it('answers a repetition under one idempotency key with the first repository, and keeps one', async () => {
    const key = { key: 'k', requestHash: 'h' };
    const first = await create(key);
    expect(await create(key)).toEqual(first);
    expect(parts()).toEqual([`blog~${first.uid}`]);
  });

  it('refuses a caller that does not administer the tenant before anything is created', async () => {
    for (const caller of [callers.anonymous, callers.otherTenant]) {
      await expect(provisioning.createRepository('default', blog, { caller })).rejects.toBeInstanceOf(
        ServiceError,
      );
    }
    expect(parts()).toEqual([]);
  });

  it('removes a repository, its files and what the journal kept for it', async () => {
    await create();
    await provisioning.removeRepository('default', 'blog', { caller: callers.admin });
    expect(parts()).toEqual([]);
    await expect(
      provisioning.removeRepository('default', 'blog', { caller: callers.admin }),
    ).rejects.toMatchObject({ code: 'REPOSITORY_NOT_FOUND' });
    await expect(
      provisioning.removeRepository('nowhere', 'blog', { caller: callers.admin }),
    ).rejects.toMatchObject({ code: 'REPOSITORY_NOT_FOUND' });
  });

  it('sweeps away what was being made or removed and is not registered, and nothing else [DUR-024]', async () => {
    const { uid } = await create();
    const left = ['blog~0000000000', 'half~1111111111', 'old~2222222222'];
    for (const part of left)
      mkdirSync(join(fixture.folder, 'actors/default', part, 'repository'), { recursive: true });
    const noted = ['default/blog~0000000000', 'default/half~1111111111'];
    for (const owner of [...noted, `default/blog~${uid}`]) await unsettled.begin(owner);
    expect([...(await provisioning.sweep(failed))].sort()).toEqual(noted);
    // Nobody knows why the third one is not registered.
    expect(parts().sort()).toEqual([`blog~${uid}`, 'old~2222222222']);
    expect(await provisioning.sweep(failed)).toEqual([]);
    await fixture.reopen();
    expect(parts().sort()).toEqual([`blog~${uid}`, 'old~2222222222']);
  });

  it('notes nothing for longer than it takes', async () => {
    await create();
    await expect(create()).rejects.toMatchObject({ code: 'REPOSITORY_ALREADY_EXISTS' });
    await provisioning.removeRepository('default', 'blog', { caller: callers.admin });
    expect(await unsettled.all()).toEqual([]);
  });

  it('removes nothing when the registry does not answer', async () => {
    const { uid } = await create();
    const owner = `default/blog~${uid}`;
    await unsettled.begin(owner);
    const deaf = Object.assign(Object.create(fixture.host), {
      query: () => Promise.reject(new ServiceError('DATA_CORRUPTED')),
    });
    const failures: string[] = [];
    const swept = new MemberProvisioning(deaf, fixture.host, systemRandom, unsettled);
    expect(await swept.sweep((name) => void failures.push(name))).toEqual([]);
    expect([failures, parts(), await unsettled.all()]).toEqual([[owner], [`blog~${uid}`], [owner]]);
  });

  it('finishes a removal that was cut between the registry and the actors', async () => {
    const { uid } = await create();
    const cut = Object.assign(Object.create(fixture.host), {
      destroyUnder: () => Promise.reject(new ServiceError('WRITES_STOPPED')),
    });
    const removing = new MemberProvisioning(fixture.host, cut, systemRandom, unsettled);
    await expect(
      removing.removeRepository('default', 'blog', { caller: callers.admin }),
    ).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    expect(parts()).toEqual([`blog~${uid}`]);
    expect(await provisioning.sweep(failed)).toEqual([`default/blog~${uid}`]);
    expect(parts()).toEqual([]);
  });

  it('sweeps away tenants that are not registered, as a restore that was cut leaves them', async () => {
    await create();
    for (const left of ['half/tenant', 'half/blog~0000000000/repository', 'other/tenant']) {
      mkdirSync(join(fixture.folder, 'actors', left), { recursive: true });
    }
    const register = { type: 'RegisterTenant', tenantId: 'acme', metadata: {}, admin };
    await fixture.command('default/tenant', register, callers.admin);
    await provisioning.finishTenants();
    for (const owner of ['acme', 'half', 'half/blog~0000000000']) await unsettled.begin(owner);
    expect(await provisioning.sweep(failed)).toEqual(['half', 'half/blog~0000000000']);
    expect(fixture.host.namesUnder('').filter((name) => !name.startsWith('.'))).toEqual([
      'acme',
      'default',
      'other',
    ]);
    expect(await provisioning.sweep(failed)).toEqual([]);
  });

  it('finishes a tenant whose making was interrupted', async () => {
    const register = { type: 'RegisterTenant', tenantId: 'acme', metadata: {}, admin };
    await fixture.command('default/tenant', register, callers.admin);
    expect(await provisioning.finishTenants()).toEqual(['acme']);
    expect(await provisioning.finishTenants()).toEqual([]);
    expect(fixture.query('acme/tenant', { type: 'FindAdmin', username: 'admin' } as never)).toMatchObject({
      password_hash: 'hash',
    });
  });
});

describe('a repository whose registration is not answered', () => {
  /** Creates `blog` while the answer to its registration is lost. @returns what the caller is told, and the uid listed */
  async function createLosing(
    lost: Omit<LostAnswers, 'type'>,
  ): Promise<{ readonly told: unknown; readonly uid: string | undefined }> {
    const router = losingAnswers(fixture.host, () => ({ type: 'RegisterRepository', ...lost }));
    const creating = new MemberProvisioning(router, fixture.host, systemRandom, unsettled);
    const told = await creating
      .createRepository('default', blog, { caller: callers.admin })
      .catch((error: unknown) => error);
    const find = { type: 'FindRepository', repositoryId: 'blog' } as const;
    const entry = fixture.query<RepositoryEntry | undefined>('default/tenant', find as never);
    return { told, uid: entry?.uid };
  }

  it('is completed when its creator disconnects meanwhile [DUR-028]', async () => {
    for (const stage of ['InitializeRepository', 'RegisterRepository']) {
      const leaving = new AbortController();
      const router = farRouter(fixture.host, (type) => {
        if (type === stage) leaving.abort();
      });
      const creating = new MemberProvisioning(router, fixture.host, systemRandom, unsettled);
      const caller = { ...callers.admin, signal: leaving.signal, deadlineMs: 0 };
      const { repositoryId, uid } = await creating.createRepository(
        'default',
        { ...blog, repositoryId: stage.toLowerCase() },
        { caller },
      );
      expect(parts()).toContain(`${repositoryId}~${uid}`);
    }
    expect(await unsettled.all()).toEqual([]);
  });

  it('keeps everything when it is registered, with any answer [DUR-028]', async () => {
    const codes: readonly ErrorCode[] = [
      'REQUEST_CANCELLED',
      'DEADLINE_EXCEEDED',
      'WRITES_STOPPED',
      'OVERLOADED',
      'NOT_FOUND',
      'RATE_LIMITED',
      'STORAGE_FULL',
      'REQUEST_TIMEOUT',
    ];
    for (const error of [...codes.map((code) => new ServiceError(code)), new TypeError('lost')]) {
      const { told, uid } = await createLosing({ told: error, isDone: true });
      expect(told).toBe(error);
      expect(parts()).toEqual([`blog~${uid}`]);
      // A start finds out the same.
      expect(await provisioning.sweep(failed)).toEqual([]);
      await provisioning.removeRepository('default', 'blog', { caller: callers.admin });
    }
  });

  it('remains recorded while its registration is unknown', async () => {
    for (const code of ['REQUEST_CANCELLED', 'DEADLINE_EXCEEDED', 'WRITES_STOPPED'] as const) {
      const { uid } = await createLosing({ told: new ServiceError(code), isDone: false });
      expect(uid).toBeUndefined();
      const left = parts().map((part) => `default/${part}`);
      expect(left).toHaveLength(1);
      expect(await unsettled.all()).toEqual(left);
      expect(await provisioning.sweep(failed)).toEqual(left);
    }
  });

  it('leaves nothing when it was turned away and the registry does not list it', async () => {
    for (const code of ['OVERLOADED', 'RATE_LIMITED', 'STORAGE_FULL', 'NOT_FOUND'] as const) {
      const { told } = await createLosing({ told: new ServiceError(code), isDone: false });
      expect(told).toMatchObject({ code });
      expect([parts(), await unsettled.all()]).toEqual([[], []]);
    }
  });

  it('stays noted when it was turned away and the registry cannot be asked', async () => {
    let isDeaf = false;
    const router = losingAnswers(fixture.host, () => {
      isDeaf = true;
      return { type: 'RegisterRepository', told: new ServiceError('OVERLOADED'), isDone: true };
    });
    const deaf: typeof router = {
      ...router,
      query(actor, query, caller) {
        if (isDeaf) throw new ServiceError('NOT_OWNER');
        return router.query(actor, query, caller);
      },
    };
    const creating = new MemberProvisioning(deaf, fixture.host, systemRandom, unsettled);
    await expect(creating.createRepository('default', blog, { caller: callers.admin })).rejects.toMatchObject(
      { code: 'OVERLOADED' },
    );
    expect(parts()).toHaveLength(1);
    expect(await unsettled.all()).toEqual([`default/${parts()[0]}`]);
  });

  it('leaves nothing when it could not even be created, and reports the reason', async () => {
    const full = new ServiceError('STORAGE_FULL');
    const router = losingAnswers(fixture.host, () => ({
      type: 'InstallBuiltIns',
      told: full,
      isDone: false,
    }));
    const creating = new MemberProvisioning(router, fixture.host, systemRandom, unsettled);
    await expect(creating.createRepository('default', blog, { caller: callers.admin })).rejects.toBe(full);
    expect([parts(), await unsettled.all()]).toEqual([[], []]);
    const stuck = Object.assign(Object.create(fixture.host), {
      create: (actor: string) => fixture.host.create(actor),
      destroyUnder: () => Promise.reject(new ServiceError('WRITES_STOPPED')),
    });
    const creatingStuck = new MemberProvisioning(router, stuck, systemRandom, unsettled);
    await expect(creatingStuck.createRepository('default', blog, { caller: callers.admin })).rejects.toBe(
      full,
    );
    expect(await unsettled.all()).toEqual([`default/${parts()[0]}`]);
  });

  it('is removed even if the caller of the removal disconnects meanwhile', async () => {
    await create();
    const leaving = new AbortController();
    const router = farRouter(fixture.host, (type) => {
      if (type === 'UnregisterRepository') leaving.abort();
    });
    const removing = new MemberProvisioning(router, fixture.host, systemRandom, unsettled);
    const caller = { ...callers.admin, signal: leaving.signal };
    await removing.removeRepository('default', 'blog', { caller });
    expect([parts(), await unsettled.all()]).toEqual([[], []]);
  });
});
