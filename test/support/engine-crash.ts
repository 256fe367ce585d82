import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseRevision } from '#runtime/content/revision.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { readRevision } from '#runtime/tree/revision-store.ts';
import { findDamage } from './branch-checker.ts';
import { Engine } from './engine.ts';
import { branchKinds, CONTENT, openBranchShard, TestBranch } from './test-branch.ts';

/** How a child of `engine-child.ts` ends. */
export interface ChildRun {
  readonly lines: readonly string[];
  readonly signal: NodeJS.Signals | null;
}

/** What ends a child: a crash point it dies at by itself, or so many answers, after which it is killed. */
export type ChildEnd = { readonly crashPoint: string } | { readonly killAfterAnswers: number };

/** Time after which a child that should have died is given up, in milliseconds. */
const CHILD_MAX_MS = 60_000;

/** Runs a child until it is dead. */
export function runChild(folder: string, round: number, end: ChildEnd): Promise<ChildRun> {
  const script = join(import.meta.dirname, 'engine-child.ts');
  const crashPoint = 'crashPoint' in end ? end.crashPoint : '';
  const child = spawn(process.execPath, [script, folder, `${round}`], {
    env: { ...process.env, SVC_CRASH_POINT: crashPoint },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const tooLong = setTimeout(() => child.kill('SIGTERM'), CHILD_MAX_MS);
  let text = '';
  let answers = 0;
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    text += chunk;
    answers += chunk.split('\nok ').length - 1;
    if ('killAfterAnswers' in end && answers >= end.killAfterAnswers) child.kill('SIGKILL');
  });
  return new Promise((resolve) => {
    child.on('close', (_code, signal) => {
      clearTimeout(tooLong);
      // A last line that was cut off was never said.
      resolve({ lines: text.split('\n').slice(0, -1), signal });
    });
  });
}

/** What a path holds: the title of its node, or null without one. */
type State = string | null;

/** What the children of one folder said, put together. */
export class Testimony {
  /** By path: what it holds after the last answer. */
  readonly known = new Map<string, State>();
  /** By path: what it may hold instead, because nobody heard the answer. */
  readonly possible = new Map<string, State>();
  /** By path: the revision of the last answer. */
  readonly revisions = new Map<string, string>();
  /** Every acknowledged revision, in the order of the answers. */
  readonly acknowledged: string[] = [];
  readonly refused = new Map<string, string>();
  /** Wide commands: the number of nodes, and whether it is known to be there. */
  readonly wide = new Map<string, { count: number; isKnown: boolean }>();
  readonly destroyed: string[] = [];
  readonly #sent = new Map<string, string>();

  hear(lines: readonly string[]): void {
    for (const line of lines) {
      const [word = '', operation = '', path = '', last = ''] = line.split(' ');
      if (word === 'try') this.#try(operation, path, last);
      else if (word === 'ok') this.#ok(operation, path, last);
      else if (word === 'no') this.#no(operation, path, last);
      else if (word === 'destroyed') this.destroyed.push(operation);
    }
  }

  #try(operation: string, path: string, value: string): void {
    this.#sent.set(`${operation} ${path}`, value);
    if (operation === 'wide') this.wide.set(path, { count: Number(value), isKnown: false });
    else this.possible.set(path, operation === 'delete' ? null : value);
  }

  #ok(operation: string, path: string, revision: string): void {
    this.acknowledged.push(revision);
    const value = this.#sent.get(`${operation} ${path}`) as string;
    if (operation === 'wide') {
      this.wide.set(path, { count: Number(value), isKnown: true });
      return;
    }
    this.possible.delete(path);
    this.known.set(path, operation === 'delete' ? null : value);
    this.revisions.set(path, revision);
  }

  #no(operation: string, path: string, code: string): void {
    this.possible.delete(path);
    this.refused.set(`${operation} ${path}`, code);
  }
}

/** What {@link inspect} found. */
export interface Inspection {
  /** Sentences about everything that is not as it must be. */
  readonly damage: readonly string[];
  /** How long opening and catching up took, in milliseconds. */
  readonly recoveryMs: number;
}

/** Opens the folder of a dead child as a restart would and compares everything with what the child said. */
export async function inspect(folder: string, testimony: Testimony): Promise<Inspection> {
  const damage: string[] = [];
  const started = performance.now();
  const engine = await Engine.open(folder, { kinds: branchKinds });
  const recoveryMs = performance.now() - started;
  const branch = await new TestBranch(engine).prepare();
  await checkReads(branch, testimony, damage);
  await branch.create(`/after${testimony.acknowledged.length}`);
  for (const path of testimony.destroyed)
    if (existsSync(path)) damage.push(`${path} was destroyed and is there`);
  if (existsSync(join(folder, 'actors', '.removed'))) damage.push('what was being removed is still there');
  await engine.close();
  await checkTables(folder, testimony, damage);
  return { damage, recoveryMs };
}

async function titleAt(branch: TestBranch, path: string): Promise<State> {
  try {
    return (await branch.read(path)).properties.title as string;
  } catch (error) {
    if ((error as { code?: string }).code !== 'NODE_NOT_FOUND') throw error;
    return null;
  }
}

async function checkReads(branch: TestBranch, testimony: Testimony, damage: string[]): Promise<void> {
  const paths = new Set([...testimony.known.keys(), ...testimony.possible.keys()]);
  for (const path of paths) {
    const found = await titleAt(branch, path);
    const known = testimony.known.get(path) ?? null;
    const isPossible = testimony.possible.has(path) && found === testimony.possible.get(path);
    if (found !== known && !isPossible) damage.push(`${path} is ${found}, acknowledged was ${known}`);
  }
  for (const [operation, code] of testimony.refused) {
    const path = operation.slice(operation.indexOf(' ') + 1);
    if (code !== 'VALIDATION_FAILED') damage.push(`${operation} was refused with ${code}`);
    if ((await titleAt(branch, path)) !== (testimony.known.get(path) ?? null))
      damage.push(`${path} was refused and is there`);
  }
  for (const [prefix, { count, isKnown }] of testimony.wide) {
    let found = 0;
    for (let index = 0; index < count; index += 1)
      if ((await titleAt(branch, `${prefix}${index}`)) !== null) found += 1;
    if (found !== count && (isKnown || found > 0))
      damage.push(`${found} of ${count} nodes of ${prefix} are there`);
  }
}

/** The stored bytes: indexes against a rebuild, and that every acknowledged revision is recorded. */
async function checkTables(folder: string, testimony: Testimony, damage: string[]): Promise<void> {
  const shard = openBranchShard(folder);
  try {
    damage.push(...findDamage(shard));
    for (const text of testimony.acknowledged)
      if (readRevision(shard, parseRevision(text)) === undefined) damage.push(`revision ${text} is gone`);
    const head = new HeadNodeReader(shard);
    for (const [path, revision] of testimony.revisions) {
      if (testimony.possible.has(path) || testimony.known.get(path) === null) continue;
      const stored = atOnce(head.byPathInSteps(CONTENT, path))?.header.revision;
      if (stored !== revision) damage.push(`${path} has revision ${stored}, acknowledged was ${revision}`);
    }
  } finally {
    await shard.close();
  }
}
