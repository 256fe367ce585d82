import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { actorId } from '#runtime/actor/actor-id.ts';
import { holdProcess } from '#runtime/base/process/hold-process.ts';
import { armCrashPoint, armCrashPointFromText, type CrashPointName } from '#runtime/commit/crash-point.ts';
import { claimName } from '#server/host/claimed-name.ts';
import { acquireDataDirectory } from '#runtime/embedded/data-directory-lock.ts';
import { Engine, TENANT } from './engine.ts';
import { BRANCH, branchKinds, CONTENT, TestBranch } from './test-branch.ts';

/*
 * A process that runs the real engine over a folder and writes to it until it is killed, or dies at the crash
 * point `SVC_CRASH_POINT` names: `engine-child.ts <folder> <round> [<name>:<pass>...]`. At the named passes of crash points it
 * stops with all its threads until it is told to go on; its files are then what a kill would leave. On standard output, one
 * line each:
 *
 *   at <name>:<pass>                    stops here
 *   try <operation> <path> <value>      sent
 *   ok <operation> <path> <revision>    answered: it is durable
 *   no <operation> <path> <code>        answered with an error: it must not be there
 *   destroying / destroyed <folder>     a second repository with a copy of the branch is being removed / is gone
 */
const [folder = '', round = '0', ...stops] = process.argv.slice(2);

/** Says a line at once, so that it is heard although the process dies right after. */
function say(...words: readonly string[]): void {
  const line = Buffer.from(`${words.join(' ')}\n`);
  for (let said = 0; said < line.length; ) {
    try {
      said += writeSync(1, line, said);
    } catch (error) {
      // The pipe is full: whoever reads it is slower for a moment.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

/** Commands under way at a time. */
const WRITERS = 12;

/** Nodes of one command that is applied in several parts. */
const WIDE_NODES = 800;

// As main.ts does: timers of the engine do not keep a process.
holdProcess();
armCrashPointFromText(process.env.SVC_CRASH_POINT);
for (const [name, passes] of stopsByName()) stopAt(name, passes);
await acquireDataDirectory(folder, claimName);
const engine = await Engine.open(folder, {
  kinds: branchKinds,
  segmentBytes: 256 * 1024,
  limits: { apply: { applyBytes: 32_000, applyDelayMs: 5 } },
});
const branch = await new TestBranch(engine).prepare();
say('ready');

function stopsByName(): ReadonlyMap<CrashPointName, readonly number[]> {
  const passes = new Map<CrashPointName, number[]>();
  for (const stop of stops) {
    const [name, pass] = stop.split(':') as [CrashPointName, string];
    passes.set(name, [...(passes.get(name) ?? []), Number(pass)]);
  }
  return passes;
}

/** @param passes ascending, from 1 */
function stopAt(name: CrashPointName, passes: readonly number[], passed = 0): void {
  const [pass, ...later] = passes;
  if (pass === undefined) return;
  armCrashPoint(name, pass - passed, () => {
    stopAt(name, later, pass);
    say('at', `${name}:${pass}`);
    process.kill(process.pid, 'SIGSTOP');
  });
}

async function attempt(
  operation: string,
  path: string,
  value: string,
  send: () => Promise<unknown>,
): Promise<boolean> {
  say('try', operation, path, value);
  try {
    const { revision } = (await send()) as { revision: string };
    say('ok', operation, path, revision);
    return true;
  } catch (error) {
    say('no', operation, path, (error as { code?: string }).code ?? String(error));
    return false;
  }
}

const text = 'Lorem ipsum dolor sit amet. '.repeat(20);

function articleOf(value: string): object {
  return { title: value, rank: value.length, code: value, text };
}

async function writeForever(writer: number): Promise<never> {
  for (let index = 0; ; index += 1) {
    const path = `/r${round}w${writer}n${index}`;
    const value = `${path}v`;
    await attempt('create', path, value, () => branch.create(path, articleOf(value)));
    if (index % 3 === 0) {
      const properties = articleOf(`${value}2`) as never;
      const update = { type: 'UpdateNode', workspace: CONTENT, place: { path }, properties } as const;
      await attempt('update', path, `${value}2`, () => branch.command(update));
    }
    // The unique value is taken, so these fail after they have written.
    if (index % 4 === 1)
      await attempt('create', `${path}bad`, value, () => branch.create(`${path}bad`, articleOf(value)));
    if (index % 5 === 2) {
      const removal = { type: 'DeleteNode', workspace: CONTENT, place: { path } } as const;
      await attempt('delete', path, '-', () => branch.command(removal));
    }
  }
}

/** One command with more changes than one application takes. */
async function writeWide(): Promise<void> {
  const operations = Array.from({ length: WIDE_NODES }, (_, index) => ({
    type: 'create' as const,
    parentPath: '/',
    node: { name: `r${round}wide${index}`, nodeType: 'test:Article', properties: { title: 'wide' } },
  }));
  const commit = { message: 'wide', actor: 'test' };
  const command = { type: 'CommitOperations', workspace: CONTENT, commit, operations } as const;
  await attempt('wide', `/r${round}wide`, `${WIDE_NODES}`, () => branch.command(command as never));
}

async function destroyAnother(): Promise<void> {
  const owner = actorId(TENANT, `old~${round}`);
  await engine.host.create(`${owner}/repository`);
  await engine.host.fork(BRANCH, `${owner}/copy~1/branch`);
  say('destroying', join(folder, 'actors', ...owner.split('/')));
  await engine.host.destroyUnder(owner);
  say('destroyed', join(folder, 'actors', ...owner.split('/')));
}

const writers = Array.from({ length: WRITERS }, (_, writer) => writeForever(writer));
await writeWide();
await destroyAnother();
await Promise.all(writers);
