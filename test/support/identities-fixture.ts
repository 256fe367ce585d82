import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { identitiesActor } from '#actors/identities/identities-actor.ts';
import type {
  Credentials,
  FailedLogin,
  IdentitiesCommand,
  IdentitiesQuery,
  Identity,
  LoginProof,
  NewSession,
  OpenedSession,
  RefreshOutcome,
  Registered,
  Session,
} from '#actors/identities/messages.ts';
import type {
  AuthConfiguration,
  AuthConfigurationChange,
} from '#runtime/access/identity/auth-configuration.ts';
import { type Caller, commonTableNames } from '#runtime/commit/behaviour.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { encodeEntry, entrySize } from '#runtime/log/entry-codec.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import { callers, HostFixture } from './host-fixture.ts';
import { TestClock } from './test-clock.ts';

/** A place as a hash of the address of a client. */
export function placeOf(address: string): string {
  return createHash('sha256').update(address).digest('base64url');
}

/** The hash of a password, in the tests of the actor, which compares none. */
export function hashOf(password: string): string {
  return `hash of ${password}`;
}

/** What a client holds of a session. */
export interface HeldSession {
  readonly identityId: string;
  readonly sessionId: string;
  readonly family: string;
  readonly generation: number;
  readonly tokenHash: string;
}

/** The identities of tenants in a real host over a real journal, with a clock the test moves. */
export class IdentitiesFixture {
  readonly clock: TestClock;
  readonly host: HostFixture;
  /** The actor that messages go to. */
  actor = '';
  #count = 0;

  private constructor(host: HostFixture, clock: TestClock) {
    this.host = host;
    this.clock = clock;
  }

  static async open(): Promise<IdentitiesFixture> {
    const clock = new TestClock();
    const host = await HostFixture.open([identitiesActor], undefined, clock);
    const fixture = new IdentitiesFixture(host, clock);
    await fixture.begin();
    return fixture;
  }

  /** Goes on with the identities of a new tenant. */
  async begin(): Promise<void> {
    this.#count += 1;
    this.actor = `tenant-${this.#count}/identities`;
    await this.host.host.create(this.actor);
  }

  send<Result>(command: IdentitiesCommand, caller: Caller = callers.engine): Promise<Result> {
    return this.host.command(this.actor, command, caller);
  }

  ask<Answer>(query: IdentitiesQuery, caller: Caller = callers.engine): Answer {
    return this.host.query(this.actor, query, caller);
  }

  /** A session to be opened, with ids of its own. */
  newSession(more: Partial<NewSession> = {}): NewSession {
    this.#count += 1;
    const number = String(this.#count).padStart(8, '0');
    return {
      sessionId: `session-${number}`,
      family: `family-${number}`,
      tokenHash: `token-${number}-1`,
      rememberMe: false,
      repository: null,
      userAgent: 'test',
      ipAddress: '127.0.0.1',
      place: placeOf('home'),
      ...more,
    };
  }

  /** Registers somebody who is then logged in. */
  async register(email: string, password = 'right', place = placeOf('home')): Promise<HeldSession> {
    const session = this.newSession({ place });
    const registered = await this.send<Registered>({
      type: 'RegisterIdentity',
      email,
      passwordHash: hashOf(password),
      session,
    });
    return heldOf(registered.opened as OpenedSession, session);
  }

  /** Opens a session. */
  async open(
    proof: LoginProof,
    more: Partial<NewSession> = {},
  ): Promise<HeldSession & { readonly opened: OpenedSession }> {
    const session = this.newSession(more);
    const opened = await this.send<OpenedSession>({ type: 'OpenSession', proof, session });
    return { ...heldOf(opened, session), opened };
  }

  /**
   * Logs in as a route does: reads the credentials, compares the password, and says what came of it.
   *
   * @throws {ServiceError} the error of the answer
   */
  async logIn(email: string, password: string, more: Partial<NewSession> = {}): Promise<HeldSession> {
    const place = more.place ?? placeOf('home');
    const { passwordHash, retryAfterSeconds } = this.ask<Credentials>({
      type: 'FindCredentials',
      email,
      place,
    });
    if (retryAfterSeconds > 0) throw new ServiceError('ACCOUNT_LOCKED');
    if (passwordHash === hashOf(password))
      return await this.open({ kind: 'password', email, judged: passwordHash }, more);
    const failed = await this.send<FailedLogin>({
      type: 'CountFailedLogin',
      email,
      place,
      judged: passwordHash,
    });
    throw new ServiceError(
      ({ counted: 'INVALID_CREDENTIALS', locked: 'ACCOUNT_LOCKED', changed: 'CONFLICT' } as const)[
        failed.outcome
      ],
    );
  }

  /** Exchanges the refresh token of a session. @returns the next token, or the code of the refusal */
  async refresh(held: HeldSession): Promise<HeldSession | string> {
    this.#count += 1;
    const nextTokenHash = `token-${this.#count}-next`;
    const outcome = await this.send<RefreshOutcome>({ type: 'RefreshSession', ...held, nextTokenHash });
    if (!outcome.isRefreshed) return outcome.code;
    return { ...held, generation: outcome.opened.session.token_generation, tokenHash: nextTokenHash };
  }

  configure(change: AuthConfigurationChange): Promise<AuthConfiguration> {
    return this.send({ type: 'ConfigureAuthentication', change });
  }

  identity(email: string): Identity | undefined {
    return this.ask({ type: 'FindIdentity', email });
  }

  sessions(identityId: string): readonly Session[] {
    return this.ask({ type: 'ListSessions', identityId });
  }

  /** Stores rows as a restore does. */
  async importRows(writes: readonly Write[]): Promise<void> {
    const rows = { actor: this.actor, writes, clock: revisionZero };
    const entry = Buffer.alloc(entrySize(rows));
    encodeEntry(rows, entry, 0);
    await this.host.command(this.actor, { type: 'ImportRows', entry } as never);
  }

  /** Closes everything, reads the file of the actor, and opens everything again. */
  async reading<T>(read: (file: ShardFile) => T): Promise<T> {
    const path = join(this.host.folder, 'actors', this.actor, 'data.mdb');
    let result: T | undefined;
    await this.host.reopen(() => {
      const file = new ShardFile(path, [...commonTableNames, ...identitiesActor.tables]);
      try {
        result = read(file);
      } finally {
        file.close();
      }
    });
    return result as T;
  }

  /** The number of stored rows of a table. */
  rowsOf(table: number): Promise<number> {
    return this.reading((file) => [...file.rows(table)].length);
  }

  close(): Promise<void> {
    return this.host.close();
  }
}

function heldOf({ identity, session }: OpenedSession, { family, tokenHash }: NewSession): HeldSession {
  return {
    identityId: identity.identity_id,
    sessionId: session.session_id,
    family,
    generation: session.token_generation,
    tokenHash,
  };
}
