import { ClusterDirectory } from '#cluster/directory/cluster-directory.ts';
import type { Formats } from '#cluster/directory/common-formats.ts';
import type { Heartbeat } from '#cluster/directory/heartbeat.ts';
import { MemberRegistry, registryTimes } from '#cluster/directory/member-registry.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { TestClock } from './test-clock.ts';

/** Members that hear each other within one process, each with its directory, on one clock that tests move. */
export class HeardMembers {
  readonly clock = new TestClock();
  readonly #partitions: number;
  readonly #cut = new Set<string>();
  readonly #ears = new Map<string, (heartbeat: Heartbeat) => void>();
  readonly #members = new Map<
    string,
    { readonly registry: MemberRegistry; readonly directory: ClusterDirectory }
  >();

  constructor(partitions: number, ...ids: readonly string[]) {
    this.#partitions = partitions;
    for (const id of ids) this.add(id);
  }

  /** Starts a member. */
  add(id: string, formats: Formats = { records: 1, calls: 1 }): void {
    const registry = this.#start(id, id, formats);
    this.#members.set(id, { registry, directory: new ClusterDirectory(registry, id, this.#partitions) });
  }

  /** Starts another process under the name of a member. */
  addTwin(id: string): void {
    this.#start(id, `twin of ${id}`, { records: 1, calls: 1 });
  }

  /** @param process told apart from others of the same name */
  #start(id: string, process: string, formats: Formats): MemberRegistry {
    const registry = new MemberRegistry({
      member: { id, url: `http://${id}:8080` },
      version: '1.2.3',
      formats,
      partitions: this.#partitions,
      load: () => ({ requestsInFlight: 1, openActors: 2, pendingBytes: 3 }),
      channel: {
        send: (heartbeat) => {
          if (this.#cut.has(process)) return;
          for (const [ear, hear] of this.#ears) if (ear !== process && !this.#cut.has(ear)) hear(heartbeat);
        },
        listen: (hear) => {
          this.#ears.set(process, hear);
          return () => void this.#ears.delete(process);
        },
      },
      clock: this.clock,
      random: systemRandom,
      observer: { joined: () => {}, lost: () => {}, duplicate: () => {}, surplus: () => {} },
    });
    registry.start();
    return registry;
  }

  registry(id: string): MemberRegistry {
    return this.#get(id).registry;
  }

  directory(id: string): ClusterDirectory {
    return this.#get(id).directory;
  }

  /** Cuts a member off: it hears nothing and is not heard. */
  cut(id: string): void {
    this.#cut.add(id);
  }

  /** Lets seconds pass, a heartbeat each. */
  pass(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) this.clock.advance(registryTimes.heartbeatMs);
  }

  #get(id: string) {
    const member = this.#members.get(id);
    if (member === undefined) throw new Error(`no member ${id}`);
    return member;
  }
}
