import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { CATALOGUE } from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { shardPath } from '#runtime/shard/shard-identity.ts';
import { type StoredHead, storedHead } from '#runtime/shard/stored-head.ts';
import { engineUser as caller } from './engine.ts';
import type { MemoryStream } from './memory-stream.ts';
import { noteActor } from './note-actor.ts';
import { openNoteHost } from './note-host.ts';
import { until } from './until.ts';

/** The partition of the sides. */
export const SIDE_PARTITION = 3;

/** One member's side of a partition in class `quorum`; the others do not answer. */
export class PartitionSide {
  /** Of the partition. */
  readonly folder: string;
  readonly #root: string;
  readonly store: ActorStore;
  readonly member: PartitionMember;
  readonly events: LogEvent[] = [];

  constructor(root: string, stream: MemoryStream, name: string) {
    this.#root = root;
    this.folder = join(root, name);
    const actors = join(this.folder, 'actors');
    const store = new ActorStore(actors, [noteActor], systemClock);
    this.store = store;
    this.member = new PartitionMember({
      partition: SIDE_PARTITION,
      member: name,
      folder: this.folder,
      stream: stream.link(),
      store,
      leaseMs: 50,
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      openHost: async (log) => {
        const observer = {
          batchDurable() {},
          events() {},
          stopped() {},
          applyFailed() {},
          damaged: (_: string, cause: unknown) => {
            if (this.member.damage.contained === undefined) void this.member.startOver(cause);
          },
        };
        return await openNoteHost({ folder: actors, store, log, observer });
      },
      replicas: { statuses: { ask: async () => {} }, others: () => 0, flush: undefined },
      report: (event) => this.events.push(event),
      onRole: () => {},
    });
  }

  /** What serves while it owns. */
  get host(): ActorHost {
    return (this.member.owned as NonNullable<typeof this.member.owned>).host;
  }

  /** What the file of an actor says of itself. */
  head(actor: ActorId): StoredHead | undefined {
    return storedHead(this.pathOf(actor));
  }

  /** Path of the file of an actor. */
  pathOf(actor: ActorId): string {
    return shardPath(join(this.folder, 'actors', ...actor.split('/')));
  }

  /** Writes a note of an actor. */
  write(actor: ActorId, key: string): Promise<unknown> {
    return this.host.command(actor, { type: 'Write', key, text: key }, { caller });
  }

  /** The keys of an actor's notes, sorted. */
  async keys(actor: ActorId): Promise<string[]> {
    return Object.keys((await this.host.query(actor, { type: 'ReadAll' }, caller)) as object).sort();
  }

  /** Everything it has in its log is in the shard. */
  async applied(): Promise<void> {
    const { log } = this.member.owned as NonNullable<typeof this.member.owned>;
    await until(() => log.pending().size === 0, 'the shard has everything');
  }

  /** What its disk has, as it is. @param isNamed whether the catalogue is there as well */
  copyTo(name: string, isNamed = true): void {
    cpSync(join(this.folder, 'actors'), join(this.#root, name, 'actors'), {
      recursive: true,
      filter: (path) => !path.endsWith('lock.mdb') && (isNamed || !path.includes(CATALOGUE)),
    });
  }

  /** The position as it is stored, for a copy that is made later. @param isNamed whether it names the catalogue */
  copyPositionTo(name: string, isNamed = true): void {
    const { catalogue, ...position } = JSON.parse(readFileSync(join(this.folder, 'position.json'), 'utf8'));
    mkdirSync(join(this.#root, name), { recursive: true });
    writeFileSync(
      join(this.#root, name, 'position.json'),
      JSON.stringify(isNamed ? { ...position, catalogue } : position),
    );
  }
}
