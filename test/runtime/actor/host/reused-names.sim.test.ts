import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Engine, type EngineSetup, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { SimRandom } from '#test/sim/sim-random.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const setup: EngineSetup = {
  kinds: [noteActor],
  containsDamage: true,
  segmentBytes: 16_384,
  removedKeepMs: 3_600_000,
};
const owners = ['acme/x~1', 'acme/y~1'];
const actors = owners.flatMap((owner) => ['p', 'q'].map((name) => `${owner}/${name}/notes`));
const bystander = actorId('acme', 'z~1', 'main', 'notes');

type Notes = Map<string, string>;

/** A data directory with random actors of few names, and what was acknowledged. */
class Directory {
  readonly root = mkdtempSync(join(tmpdir(), 'reused-names-sim-'));
  readonly #random: SimRandom;
  readonly #model = new Map<string, Notes>();
  /** Damaged segments as they were, by path. */
  readonly #whole = new Map<string, Buffer>();
  readonly steps: string[] = [];
  #engine: Engine | undefined;
  #number = 0;
  /** The catalogue before actors were created that it may not have on the disk yet, and the segments at that time. */
  #older: { readonly path: string; readonly segments: string } | undefined;

  constructor(seed: number) {
    this.#random = new SimRandom(seed);
  }

  get #folder(): string {
    return join(this.root, 'data');
  }

  get #open(): Engine {
    if (this.#engine === undefined) throw new Error('not open');
    return this.#engine;
  }

  async begin(): Promise<void> {
    await this.#start();
    await this.#open.host.create(bystander);
    this.#model.set(bystander, new Map());
  }

  async end(): Promise<void> {
    await this.#engine?.close();
    rmSync(this.root, { recursive: true, force: true });
  }

  async step(): Promise<void> {
    const chance = this.#random.below(100);
    if (chance < 22) await this.#create();
    else if (chance < 30) await this.#fork();
    else if (chance < 62) await this.#write(this.#random.pick(actors));
    else if (chance < 70) await this.#destroy();
    else if (chance < 80) await this.#fill();
    else if (chance < 88) await this.#restart('restart', () => {});
    else if (chance < 97) await this.#kill(chance < 93);
    else await this.#putBack();
  }

  /** Brings back all that was damaged, after which nobody is refused. */
  async finish(): Promise<void> {
    await this.#putBack();
    await this.#verify();
    if (this.#whole.size === 0) expect(this.#refused()).toEqual([]);
  }

  #refused(): readonly string[] {
    return this.#open.host.stoppedActors.map(({ actor }) => actor);
  }

  async #create(): Promise<void> {
    const actor = this.#random.pick(actors);
    if (this.#model.has(actor)) return;
    const path = join(this.root, 'older');
    const segments = this.#journal().join();
    if (this.#older === undefined) {
      rmSync(path, { recursive: true, force: true });
      cpSync(join(this.#folder, 'actors/.catalogue'), path, { recursive: true });
    }
    if (!(await this.#try(`create ${actor}`, () => this.#open.host.create(actor)))) return;
    this.#older ??= { path, segments };
    this.#model.set(actor, new Map());
  }

  async #fork(): Promise<void> {
    const [source, target] = [this.#random.pick(actors), this.#random.pick(actors)];
    const notes = this.#model.get(source);
    if (notes === undefined || this.#model.has(target)) return;
    this.#older = undefined;
    if (await this.#try(`fork ${source} ${target}`, () => this.#open.host.fork(source, target)))
      this.#model.set(target, new Map(notes));
  }

  async #write(actor: string, size = 300): Promise<void> {
    const notes = this.#model.get(actor);
    if (notes === undefined) return;
    this.#number += 1;
    const [key, text] = [`k${this.#random.below(6)}`, `n${this.#number}.`.padEnd(size, 'x')];
    const command = { type: 'Write', key, text };
    if (await this.#try(`write ${actor} ${key}`, () => this.#open.host.command(actor, command, { caller })))
      notes.set(key, text);
  }

  async #destroy(): Promise<void> {
    const owner = this.#random.pick([...owners, ...actors]);
    this.#older = undefined;
    if (!(await this.#try(`destroy ${owner}`, () => this.#open.host.destroyUnder(owner)))) return;
    for (const actor of [...this.#model.keys()])
      if (actor === owner || actor.startsWith(`${owner}/`)) this.#model.delete(actor);
  }

  /** Fills a segment. */
  async #fill(): Promise<void> {
    for (let number = 0; number < 5; number += 1) await this.#write(bystander, 4_000);
  }

  /** @returns whether it was done; refusals because of damage are expected */
  async #try(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      this.steps.push(what);
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'DATA_CORRUPTED') throw error;
      this.steps.push(`${what} refused`);
      return false;
    }
  }

  async #restart(what: string, between: () => void): Promise<void> {
    this.steps.push(what);
    await this.#engine?.close();
    this.#engine = undefined;
    this.#older = undefined;
    between();
    await this.#start();
    await this.#verify();
  }

  async #start(): Promise<void> {
    const isLazy = this.#random.below(2) === 0;
    const limits = isLazy ? { apply: { applyBytes: 1 << 30, applyDelayMs: 3_600_000 } } : {};
    this.#engine = await Engine.open(this.#folder, { ...setup, limits });
  }

  /** Ends the process at once. @param damages whether a record is damaged then */
  async #kill(damages: boolean): Promise<void> {
    for (let number = 0; number < 3; number += 1) await this.#write(bystander, 10);
    // A segment that leaves is noted in the catalogue first, after the actors.
    const isValid = this.#older?.segments === this.#journal().join();
    const older = isValid && this.#random.below(2) === 0 ? this.#older : undefined;
    const killed = join(this.root, 'killed');
    cpSync(this.#folder, killed, { recursive: true });
    await this.#restart(`kill${older === undefined ? '' : ' before the catalogue was written'}`, () => {
      rmSync(this.#folder, { recursive: true });
      cpSync(killed, this.#folder, { recursive: true });
      rmSync(killed, { recursive: true });
      if (older !== undefined) {
        const catalogue = join(this.#folder, 'actors/.catalogue');
        rmSync(catalogue, { recursive: true });
        cpSync(older.path, catalogue, { recursive: true });
      }
      if (damages) this.#damage();
    });
  }

  #journal(): readonly string[] {
    const folder = join(this.#folder, 'journal');
    const names = readdirSync(folder).filter((name) => name.endsWith('.journal'));
    return names.sort().map((name) => join(folder, name));
  }

  /** Flips a bit of a segment, but not at its end, where a crash explains it. */
  #damage(): void {
    const path = this.#random.pick(this.#journal());
    const bytes = readFileSync(path);
    const texts = [...bytes.toString('latin1').matchAll(/n\d+\.x/g)].map(({ index }) => index);
    const end = (texts.at(-3) ?? 0) - 200;
    if (end <= 100) return;
    const at = 72 + this.#random.below(end - 72);
    if (!this.#whole.has(path)) this.#whole.set(path, Buffer.from(bytes));
    bytes[at] = (bytes[at] as number) ^ (1 << this.#random.below(8));
    writeFileSync(path, bytes);
    this.steps.push(`damage ${basename(path)} at ${at}`);
  }

  async #putBack(): Promise<void> {
    if (this.#whole.size === 0) return;
    await this.#restart('put back', () => {
      for (const [path, bytes] of this.#whole) {
        if (!existsSync(path)) continue;
        const now = readFileSync(path);
        // What was written behind the damage meanwhile stays.
        bytes.copy(now, 0, 0, Math.min(bytes.length, now.length));
        writeFileSync(path, now);
      }
      this.#whole.clear();
    });
  }

  /** The notes of an actor, or the code of the error. */
  async #shown(actor: string): Promise<unknown> {
    try {
      return await this.#open.host.query(actor, { type: 'ReadAll' }, caller);
    } catch (error) {
      return (error as ServiceError).code;
    }
  }

  /** Nobody has anything but what was acknowledged, or is refused. */
  async #verify(): Promise<void> {
    const refused = new Set(this.#refused());
    if (this.#whole.size === 0) expect([...refused]).toEqual([]);
    for (const actor of [...actors, bystander]) {
      const notes = this.#model.get(actor);
      if (refused.has(actor)) continue;
      const found = await this.#shown(actor);
      const wanted = notes === undefined ? 'NOT_FOUND' : Object.fromEntries(notes);
      expect({ actor, found }).toEqual({ actor, found: wanted });
    }
  }
}

it.each(Array.from({ length: workloadCount(12) }, (_, seed) => seed))(
  'actors of few names are what was acknowledged or refused, after any damage and any restored file (seed %i)',
  async (seed) => {
    const directory = new Directory(seed);
    try {
      await directory.begin();
      for (let step = 0; step < 60; step += 1) await directory.step();
      await directory.finish();
    } catch (error) {
      throw new Error(`${String((error as Error).message)}\nafter:\n${directory.steps.join('\n')}`, {
        cause: error,
      });
    } finally {
      await directory.end();
    }
  },
  60_000,
);
