import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReadConfiguration } from '#actors/identities/messages.ts';
import { openClientSecret, sealClientSecret } from '#protocols/identity/oidc/client-secret.ts';
import type { OidcProvider } from '#runtime/access/identity/auth-configuration.ts';
import { mailPasswordPurpose } from '#runtime/access/identity/email-settings.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SecretBox } from '#runtime/config/secret-box.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type Log, silentLog } from '#runtime/telemetry/log-context.ts';
import type { SharedRotation } from '#server/engine/engine.ts';
import { MasterKeyRotation, type MasterKeyRotationEnvironment } from '#server/jobs/master-key-rotation.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import { providerChange } from '#test/support/provider-change.ts';

const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const old = new SecretBox(oldKey);
const fresh = new SecretBox(newKey);
const both = new SecretBox(newKey, { previous: oldKey });
const tenants = ['default', 'acme', 'empty'] as const;

let fixture: HostFixture;
let drops: number;

beforeEach(async () => {
  fixture = await HostFixture.open();
  drops = 0;
  const { host } = fixture;
  const provisioning = new MemberProvisioning(host, host, systemRandom);
  const admin = { username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false };
  await provisioning.bootstrap(() => Promise.resolve(admin));
  for (const tenantId of tenants.slice(1))
    await provisioning.createTenant({ tenantId, metadata: {}, admin }, { caller: engineCaller('default') });
  for (const tenant of tenants.slice(0, 2)) {
    await host.create(`${tenant}/identities`);
    await configure(tenant, old);
  }
});

afterEach(() => fixture.close());

function provider(id: string, secret: string | null): OidcProvider {
  return providerChange(id, { client_secret: secret });
}

/** Stores two secrets of a tenant, as the routes do. */
async function configure(tenant: string, box: SecretBox, secret = `secret of ${tenant}`): Promise<void> {
  const change = {
    oidc_providers: [
      provider('google', sealClientSecret(box, tenant, 'google', secret)),
      provider('public', null),
    ],
    email: {
      base_url: 'https://example.org',
      default_provider: 'main',
      redirect_allowlist: [],
      providers: {
        main: {
          kind: 'smtp',
          host: 'mail.example.org',
          port: 587,
          security: 'starttls',
          username: 'ann',
          password: box.seal(mailPasswordPurpose(tenant, 'main'), `password of ${tenant}`),
          from: 'login@example.org',
          reply_to: null,
        },
      },
    },
  };
  await fixture.command(`${tenant}/identities`, { type: 'ConfigureAuthentication', change } as never);
}

/** What a key opens of the secrets of a tenant. */
function opened(tenant: string, box: SecretBox): readonly (string | undefined)[] {
  const { configuration } = fixture.query<ReadConfiguration>(`${tenant}/identities`, {
    type: 'ReadAuthentication',
  } as never);
  const [google] = configuration.oidc_providers;
  return [
    openClientSecret(box, tenant, 'google', google?.client_secret ?? ''),
    box.open(mailPasswordPurpose(tenant, 'main'), configuration.email?.providers.main?.password ?? ''),
  ];
}

const plain = (tenant: string) => [`secret of ${tenant}`, `password of ${tenant}`];
const none = [undefined, undefined];

interface Line {
  readonly msg: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

function rotation(
  more: Partial<MasterKeyRotationEnvironment> = {},
  before: (actor: ActorId, type: string) => void | Promise<void> = () => undefined,
): { readonly rotation: MasterKeyRotation; readonly lines: readonly Line[] } {
  const lines: Line[] = [];
  const keep = (msg: string, fields?: Line['fields']): void => void lines.push({ msg, fields });
  const log: Log = { ...silentLog, info: keep, warn: keep };
  const { host } = fixture;
  const router: Router = {
    query(actor, query, caller) {
      return host.query(actor, query, caller);
    },
    async command(actor, command, delivery) {
      await before(actor, (command as { readonly type: string }).type);
      return await host.command(actor, command, delivery);
    },
  };
  return {
    lines,
    rotation: new MasterKeyRotation({
      router,
      box: both,
      previousSource: 'SVC_MASTER_KEY_PREVIOUS',
      dropPrevious: () => {
        drops += 1;
        return Promise.resolve();
      },
      clock: systemClock,
      random: systemRandom,
      log,
      ...more,
    }),
  };
}

describe('after a new master key [ADMIN-023]', () => {
  it('every secret of every tenant is encrypted with it, and then the previous key is dropped', async () => {
    const { lines, rotation: run } = rotation({
      dropPrevious: () => {
        for (const tenant of ['default', 'acme']) expect(opened(tenant, old)).toEqual(none);
        drops += 1;
        return Promise.resolve();
      },
    });
    run.takeUp(() => true);
    expect(run.findings).toEqual([
      {
        code: 'master-key-rotation',
        message:
          'SVC_MASTER_KEY_PREVIOUS is still needed: stored secrets are being encrypted with the new key',
      },
    ]);
    await run.settled();
    for (const tenant of ['default', 'acme']) expect(opened(tenant, fresh)).toEqual(plain(tenant));
    expect(drops).toBe(1);
    expect(run.findings[0]?.message).toContain('SVC_MASTER_KEY_PREVIOUS can be removed');
    expect(lines).toEqual([
      {
        msg: expect.stringContaining('SVC_MASTER_KEY_PREVIOUS can be removed'),
        fields: { encryptedAgain: 4 },
      },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret of');
    // Again: nothing is left to do, and nothing changes.
    const stored = opened('acme', fresh);
    run.takeUp(() => true);
    await run.settled();
    expect([opened('acme', fresh), lines.at(-1)?.fields]).toEqual([stored, { encryptedAgain: 0 }]);
  });

  it('nothing happens without a previous one', async () => {
    const { rotation: run } = rotation({ previousSource: undefined });
    run.takeUp(() => true);
    await run.settled();
    expect([opened('acme', old), drops, run.findings]).toEqual([plain('acme'), 0, []]);
  });

  it('a secret that is changed meanwhile is the new one, also when it was encrypted with the previous key', async () => {
    let isChanged = false;
    const { rotation: run } = rotation({}, async (actor) => {
      if (isChanged || actor !== 'acme/identities') return;
      isChanged = true;
      await configure('acme', old, 'another');
    });
    run.takeUp(() => true);
    await run.settled();
    expect(opened('acme', fresh)).toEqual(['another', 'password of acme']);
  });

  it('a failure keeps the previous key and is tried again', async () => {
    let failures = 2;
    const { lines, rotation: run } = rotation({}, (actor, type) => {
      if (actor !== 'acme/identities' || type !== 'ReplaceSecrets' || failures === 0) return;
      failures -= 1;
      expect([drops, run.findings[0]?.message]).toEqual([0, expect.stringContaining('still needed')]);
      throw new ServiceError('STORAGE_FULL');
    });
    run.takeUp(() => true);
    await run.settled();
    expect([opened('acme', fresh), drops]).toEqual([plain('acme'), 1]);
    expect(lines.filter(({ msg }) => msg.includes('tried again'))).toHaveLength(2);
  });

  it('a secret of neither key is named, and keeps nothing back', async () => {
    await configure('acme', new SecretBox(Buffer.alloc(32, 3)));
    const { lines, rotation: run } = rotation();
    run.takeUp(() => true);
    await run.settled();
    expect([opened('default', fresh), drops]).toEqual([plain('default'), 1]);
    expect(lines.map(({ fields }) => fields)).toEqual([
      { tenant: 'acme', provider: 'google', kind: 'client' },
      { tenant: 'acme', provider: 'main', kind: 'mail' },
      { encryptedAgain: 2 },
    ]);
  });

  it('the end of the process leaves every secret readable, and what is left to the next one', async () => {
    const { rotation: run } = rotation({}, () => run.close());
    run.takeUp(() => true);
    await run.settled();
    expect(drops).toBe(0);
    for (const tenant of ['default', 'acme']) expect(opened(tenant, both)).toEqual(plain(tenant));
    const { rotation: next } = rotation();
    next.takeUp(() => true);
    await next.settled();
    for (const tenant of ['default', 'acme']) expect(opened(tenant, fresh)).toEqual(plain(tenant));
    expect(drops).toBe(1);
  });
});

describe('in a cluster [CLU-049]', () => {
  it('it begins when all members have the new key, with what this one owns', async () => {
    const clock = new TestClock();
    let isAgreed = false;
    let left: readonly number[] = [3];
    const shared: SharedRotation = {
      isAgreed: () => isAgreed,
      isMine: (actor) => actor === 'acme/identities',
      signedBefore: () => left,
    };
    const { rotation: run } = rotation({ shared, clock });
    const message = (): string | undefined => run.findings[0]?.message;
    run.takeUp(() => true);
    clock.advance(5_000);
    await run.settled();
    expect(opened('acme', old)).toEqual(plain('acme'));
    expect(message()).toContain('still needed: not all members');
    isAgreed = true;
    await until(() => {
      clock.advance(1_000);
      return opened('acme', fresh)[0] !== undefined;
    }, 'the secrets of the owned tenant are encrypted again');
    await until(() => {
      clock.advance(1_000);
      return !(message() ?? '').includes('being encrypted');
    }, 'the run is over');
    expect(opened('default', old)).toEqual(plain('default'));
    expect(message()).toContain('the logs of 1 partitions (3) may have records');
    left = [];
    expect(message()).toContain('can be removed');
    // This member takes another partition over.
    run.takeUp((actor) => actor === 'default/identities');
    await until(() => {
      clock.advance(1_000);
      return opened('default', fresh)[0] !== undefined;
    }, 'the secrets of the other tenant follow');
    isAgreed = false;
    clock.advance(1_000);
    await until(() => (message() ?? '').includes('not all members'), 'another key is noticed');
    run.close();
  });
});
