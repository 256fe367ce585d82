import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { CreateNode } from '#actors/branch/messages.ts';
import type { BranchEntry, PutWorkspace } from '#actors/repository/messages.ts';
import type { RepositoryEntry } from '#actors/tenant/messages.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { MemberBackups } from '#server/backup/member-backups.ts';
import { tableNamesOf } from '#server/backup/take-backup.ts';
import { MemberBranches } from '#server/provisioning/branch-provisioning.ts';
import type { MemberJobs } from '#server/jobs/member-jobs.ts';
import { MemberProvisioning } from '#server/provisioning/provisioning.ts';
import type {
  BackupInfo,
  NewBackup,
  NewRestore,
  RestoreInfo,
} from '#protocols/rest/management/backup-ports.ts';
import type { RepositoryAddress } from '#protocols/rest/ports.ts';
import type { ActorCopies } from '#runtime/actor/copies/actor-copies.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { BackupKey } from '#runtime/backup/backup-key.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { OwnerIntentFiles } from '#runtime/actor/store/owner-intents.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import type { Router } from '#runtime/actor/ports.ts';
import type { Log } from '#runtime/log/ports.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { restoredHead } from '#runtime/tree/revision-store.ts';
import { HostFixture } from './host-fixture.ts';
import { jobsOn } from './member-jobs-fixture.ts';

/** The workspace of a repository of a fixture; it takes everything. */
export const WORKSPACE = 'content';

/** Rows of an actor, as texts: `table key` → value, in latin1. */
export type StoredRows = ReadonlyMap<string, string>;

/** The key of the server of a fixture. */
export const fixtureKey: BackupKey = new BackupKey(Buffer.alloc(32, 7));

/** How a fixture differs from an ordinary one. */
export interface BackupFixtureSetup {
  /** Of the backups; default: a new one. */
  readonly folder?: string;
  /** What copies actors, made of the host. */
  readonly copiesOver?: (host: ActorCopies) => ActorCopies;
  /** What the actors append to, made of the journal. */
  readonly logOver?: (journal: Log) => Log;
  readonly clock?: Clock;
  /** What restores send their commands through, made of the host. */
  readonly routerOver?: (host: Router) => Router;
}

/** A member's actors with tenant `default`, and what backs them up and restores them. */
export class BackupFixture {
  readonly fixture: HostFixture;
  readonly provisioning: MemberProvisioning;
  readonly branches: MemberBranches;
  readonly jobs: MemberJobs;
  readonly backups: MemberBackups;
  /** Folder of the backups. */
  readonly folder: string;
  readonly #isOwnFolder: boolean;

  private constructor(
    fixture: HostFixture,
    copies: ActorCopies,
    { clock = systemClock, folder, routerOver = (host) => host }: BackupFixtureSetup,
  ) {
    const { host } = fixture;
    this.fixture = fixture;
    this.#isOwnFolder = folder === undefined;
    this.folder = folder ?? mkdtempSync(join(tmpdir(), 'grove-backups-'));
    this.jobs = jobsOn(fixture, 0);
    this.provisioning = new MemberProvisioning(host, host, systemRandom);
    this.branches = new MemberBranches(host, host, systemRandom, this.jobs);
    this.backups = new MemberBackups({
      router: routerOver(host),
      lifecycle: host,
      unsettled: new OwnerIntentFiles(join(fixture.folder, 'unsettled')),
      copies,
      queue: this.jobs.queue,
      kinds: actorKinds(defaultLimits),
      clock,
      random: systemRandom,
      files: realFileSystem,
      log: silentLog,
      folder: this.folder,
      key: fixtureKey,
      version: '0.0.0-test',
    });
  }

  static async open(setup: BackupFixtureSetup = {}): Promise<BackupFixture> {
    const { clock = systemClock, copiesOver, logOver } = setup;
    const fixture = await HostFixture.open(undefined, logOver, clock);
    const copies = copiesOver === undefined ? fixture.host : copiesOver(fixture.host);
    const made = new BackupFixture(fixture, copies, setup);
    await made.provisioning.bootstrap(() =>
      Promise.resolve({ username: 'admin', email: null, passwordHash: 'hash', mustChangePassword: false }),
    );
    return made;
  }

  async close(): Promise<void> {
    await this.backups.close();
    await this.jobs.drain(0);
    await this.fixture.close();
    if (this.#isOwnFolder) rmSync(this.folder, { recursive: true, force: true });
  }

  /** Makes a repository with {@link WORKSPACE}. */
  async repository(name: string, tenant = 'default'): Promise<RepositoryAddress> {
    const entry = await this.provisioning.createRepository(
      tenant,
      {
        repositoryId: name,
        description: `About ${name}`,
        defaultBranch: 'main',
        defaultLanguage: 'en',
        supportedLanguages: ['de'],
      },
      { caller: engineCaller(tenant) },
    );
    const address = addressOf(tenant, entry);
    const definition = { allowed_node_types: [], allowed_root_node_types: [] };
    const command: PutWorkspace = { type: 'PutWorkspace', name: WORKSPACE, definition };
    await this.fixture.command(address.actor, command);
    return address;
  }

  /** A repository by its name. */
  async found(name: string, tenant = 'default'): Promise<RepositoryAddress> {
    const query = { type: 'FindRepository', repositoryId: name } as const;
    const entry = await this.fixture.query<RepositoryEntry | undefined>(`${tenant}/tenant`, query);
    if (entry === undefined) throw new Error(`no repository ${name}`);
    return addressOf(tenant, entry);
  }

  /** What the ids of the actors of a branch begin with. */
  branch(repository: RepositoryAddress, name = 'main'): string {
    const entry = this.fixture.query<BranchEntry | undefined>(repository.actor, {
      type: 'FindBranch',
      name,
    } as {
      type: 'FindBranch';
    });
    if (entry === undefined) throw new Error(`no branch ${name}`);
    return `${repository.actor.replace(/\/repository$/, '')}/${encodeURIComponent(`${name}~${entry.uid}`)}`;
  }

  /** Forks a branch. */
  async fork(repository: RepositoryAddress, name: string, source = 'main'): Promise<void> {
    await this.branches.createBranch(
      repository,
      { name, upstreamBranch: source, createdBy: 'test', protected: false, description: null },
      { caller: engineCaller(repository.tenant) },
    );
  }

  /** Creates a folder. @returns the revision */
  async create(repository: RepositoryAddress, path: string, title = '', branch = 'main'): Promise<string> {
    const slash = path.lastIndexOf('/');
    const command: CreateNode = {
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: path.slice(0, slash) || '/',
      node: { name: path.slice(slash + 1), nodeType: 'svc:Folder', properties: { title } },
      deep: false,
    };
    const written = await this.fixture.command<{ revision: string }>(
      `${this.branch(repository, branch)}/branch`,
      command,
    );
    return written.revision;
  }

  /** Makes a backup and waits for it. */
  async backup(backup: Partial<NewBackup> = {}): Promise<BackupInfo> {
    const { name } = await this.backups.start({ name: undefined, repository: undefined, ...backup });
    return await vi.waitFor(
      async () => {
        const found = await this.backups.find(name);
        if (found === undefined || found.state === 'running') throw new Error('the backup still runs');
        return found;
      },
      { timeout: 20_000, interval: 5 },
    );
  }

  /** Restores a backup and waits for it. */
  async restore(restore: Partial<NewRestore> & Pick<NewRestore, 'backup'>): Promise<RestoreInfo> {
    const { id } = await this.backups.restore({ repository: undefined, target: undefined, ...restore });
    return await vi.waitFor(
      () => {
        const found = this.backups.findRestore(id);
        if (found === undefined || found.state === 'running') throw new Error('the restore still runs');
        return found;
      },
      { timeout: 20_000, interval: 5 },
    );
  }

  /** Everything an actor has stored. */
  async rows(actor: string): Promise<StoredRows> {
    const folder = join(mkdtempSync(join(tmpdir(), 'grove-rows-')), 'copy');
    await this.fixture.host.copy(actor, folder);
    const tables = tableNamesOf(actorKinds(defaultLimits), actor);
    const rows = rowsOfFile(join(folder, 'data.mdb'), tables);
    rmSync(join(folder, '..'), { recursive: true });
    return rows;
  }

  /** The rows of a branch as they are restored: its head keeps for the change feed that there was a restore. */
  async rowsAsRestored(branch: string): Promise<StoredRows> {
    const rows = await this.rows(branch);
    const value = Buffer.from(rows.get('meta head') as string, 'latin1');
    const head = Buffer.from(restoredHead({ key: 'head', value }));
    return new Map([...rows, ['meta head', head.toString('latin1')]]);
  }
}

/** Everything in the file of a shard. @param tables their names, in the order of their numbers */
export function rowsOfFile(path: string, tables: readonly string[]): StoredRows {
  const shard = new ShardFile(path, tables);
  const rows = new Map<string, string>();
  for (const [table, name] of tables.entries()) {
    for (const { key, value } of shard.rows(table)) {
      rows.set(`${name} ${key}`, Buffer.from(value).toString('latin1'));
    }
  }
  shard.close();
  return rows;
}

function addressOf(tenant: string, { repositoryId, uid }: RepositoryEntry): RepositoryAddress {
  const part = `${repositoryId}~${uid}`;
  return { tenant, part, actor: `${tenant}/${part}/repository` };
}
