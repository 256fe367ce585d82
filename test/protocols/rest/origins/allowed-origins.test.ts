import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CorsTarget } from '#protocols/http/replies/cors.ts';
import { RepositoryDirectory } from '#protocols/rest/access/repository-directory.ts';
import { AllowedOrigins } from '#protocols/rest/origins/allowed-origins.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { LazyUpgrades } from '#server/provisioning/built-in-upgrades.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { MemberIdentities } from '#server/provisioning/tenant-identities.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';
import { TestClock } from '#test/support/test-clock.ts';

const server = 'https://server.example';
const tenant = 'https://tenant.example';
const site = 'https://site.example';

let clock: TestClock;
let fixture: HostFixture;
let directory: RepositoryDirectory;
/** What was asked of actors. */
let asked: string[];
let origins: AllowedOrigins;

beforeEach(async () => {
  clock = new TestClock();
  fixture = await HostFixture.open(undefined, undefined, clock);
  const { host } = fixture;
  const provisioning = new MemberProvisioning(host, host, systemRandom);
  await provisioning.bootstrap(() =>
    Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
  );
  for (const repositoryId of ['site', 'plain'])
    await provisioning.createRepository(
      'default',
      {
        repositoryId,
        description: null,
        defaultBranch: 'main',
        defaultLanguage: 'en',
        supportedLanguages: [],
      },
      { caller: callers.admin },
    );
  directory = new RepositoryDirectory(host, new LazyUpgrades(host, clock, silentLog));
  await setOfRepository([site]);
  await setOfTenant([tenant]);
  origins = open([server]);
});

afterEach(() => fixture.close());

function open(serverOrigins: readonly string[], fails: () => boolean = () => false): AllowedOrigins {
  asked = [];
  const { host } = fixture;
  const router: Pick<Router, 'query'> = {
    query(actor, query, caller) {
      asked.push((query as { readonly type: string }).type);
      if (fails()) throw new Error('no owner');
      return host.query(actor, query, caller);
    },
  };
  return new AllowedOrigins({ router, directory, clock, serverOrigins });
}

async function setOfRepository(list: readonly unknown[]): Promise<void> {
  const { actor } = await directory.branch('default', 'site', 'main', 'write');
  const properties = { repo_id: 'site', cors_allowed_origins: list };
  const place = { path: '/config/repos/site' };
  await fixture
    .command(actor, {
      type: 'CreateNode',
      workspace: 'svc:system',
      parentPath: '/config/repos',
      deep: false,
      node: { name: 'site', nodeType: 'svc:RepoAuthConfig', properties },
    } as never)
    .catch(() =>
      fixture.command(actor, { type: 'UpdateNode', workspace: 'svc:system', place, properties } as never),
    );
}

async function setOfTenant(list: readonly string[]): Promise<void> {
  const actor = await new MemberIdentities(fixture.host, fixture.host).createIdentities('default');
  const change = { cors_allowed_origins: list };
  await fixture.command(actor, { type: 'ConfigureAuthentication', change } as never, engineCaller('default'));
}

/** An address with these parts. */
function target(parts: Readonly<Record<string, string>> = {}, sent?: string): CorsTarget {
  return {
    header: (name) => (name === 'x-tenant-id' ? sent : undefined),
    param: (name) => parts[name],
  };
}

const of = async (parts: Readonly<Record<string, string>> = {}, sent?: string): Promise<readonly string[]> =>
  await origins.policy('https://page.example', target(parts, sent));

describe('the origins that may call', () => {
  it('a repository are those of its own list, where it has one', async () => {
    expect(await of({ repo: 'site' })).toEqual([site]);
  });

  it('a repository without a list, or none at all, are those of tenant and server [AUTHCONF-008]', async () => {
    const shared = [tenant, server];
    for (const repo of ['plain', 'none', 'No Name', '%zz', '..', 'svc', ''])
      expect([repo, await of({ repo })]).toEqual([repo, shared]);
    expect(await of()).toEqual(shared);
    await setOfRepository([]);
    clock.advance(60_000);
    expect(await of({ repo: 'site' })).toEqual(shared);
  });

  it('an address with a tenant are those of that one, and of the server for one that does not exist', async () => {
    expect(await of({ tenant: 'default' }, 'other')).toEqual([tenant, server]);
    for (const name of ['other', 'No Name', '%zz']) {
      expect(await of({ tenant: name })).toEqual([server]);
      expect(await of({ repo: 'site' }, name)).toEqual([server]);
    }
  });

  it('only such as a page can have count, whatever is stored', async () => {
    await setOfRepository([1, null, 'nonsense', 'https://a.example/path', '*', 'HTTPS://B.example:443']);
    clock.advance(60_000);
    expect(await of({ repo: 'site' })).toEqual(['*', 'https://b.example']);
  });

  it('are looked up once a minute, and answered at once between', async () => {
    const first = of({ repo: 'site' });
    expect(await Promise.all([first, of({ repo: 'site' })])).toEqual([[site], [site]]);
    expect(asked).toEqual(['ReadProperty']);
    await setOfRepository(['https://new.example']);
    expect(origins.policy(site, target({ repo: 'site' }))).toEqual([site]);
    clock.advance(59_999);
    expect(origins.policy(site, target({ repo: 'site' }))).toEqual([site]);
    clock.advance(1);
    expect(await of({ repo: 'site' })).toEqual(['https://new.example']);
    expect(asked).toEqual(['ReadProperty', 'ReadProperty']);
  });

  it('are remembered of names that do not exist, and of as many as fit', async () => {
    await of({ repo: 'none' });
    asked = [];
    await of({ repo: 'none' });
    expect(asked).toEqual([]);
    for (let each = 0; each < 5_000; each += 1) await of({ repo: `name-${each}` });
    expect(origins.size).toBeLessThanOrEqual(5_000);
    // The list of the tenant was not displaced.
    expect(asked).not.toContain('ReadAuthentication');
  });

  it('are those of the server while nothing can be looked up, which is tried again soon', async () => {
    let isBroken = true;
    origins = open([server], () => isBroken);
    expect(await of({ repo: 'site' })).toEqual([server]);
    isBroken = false;
    expect(await of({ repo: 'site' })).toEqual([server]);
    clock.advance(5_000);
    expect(await of({ repo: 'site' })).toEqual([site]);
  });
});
