import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

const cleanups: (() => unknown)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

/** Writes lines into the log of a process, waits for a line on its input, writes one more and ends. */
const script = (lines: number): string => `
  import { createLog } from '#runtime/telemetry/log-context.ts';
  import { ProcessOutput } from '#runtime/telemetry/process-output.ts';
  import { systemClock } from '#runtime/base/time/clock.ts';
  const sink = new ProcessOutput(1, systemClock);
  const log = createLog({ level: 'info', clock: systemClock, sink });
  for (let line = 0; line < ${lines}; line += 1) log.info('line', { line, filler: 'x'.repeat(200) });
  process.stdin.once('data', () => {
    log.info('last');
    log.flush();
    process.stderr.write(String(sink.dropped));
    process.exit(0);
  });
`;

interface Run {
  readonly child: ChildProcess;
  /** Lets it go on to its end. @returns exit code and lines it gave up */
  end(): Promise<{ readonly code: number | null; readonly dropped: number }>;
}

function run(lines: number, stdout: number | 'pipe'): Run {
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', script(lines)], {
    cwd: join(import.meta.dirname, '..', '..', '..'),
    stdio: ['pipe', stdout, 'pipe'],
  });
  cleanups.push(() => child.kill('SIGKILL'));
  let told = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    child,
    async end() {
      child.stdin?.write('\n');
      const code = await ended;
      return { code, dropped: Number(told) };
    },
  };
}

/** A named pipe: the end for the child, and one of its own for reading, because spawning makes the other one block. */
function openPipe(): { readonly write: number; readonly read: number } {
  const folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const [read, write] = [constants.O_RDONLY, constants.O_WRONLY].map((mode) => {
    const descriptor = openSync(path, mode | constants.O_NONBLOCK);
    cleanups.push(() => closeSync(descriptor));
    return descriptor;
  }) as [number, number];
  return { write, read };
}

function readPipe(descriptor: number): string {
  const bytes = Buffer.alloc(1024 * 1024);
  let text = '';
  for (;;) {
    try {
      const count = readSync(descriptor, bytes);
      if (count === 0) return text;
      text += bytes.toString('utf8', 0, count);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return text;
      throw error;
    }
  }
}

describe('the output of a process', () => {
  it('ends although the reader closed it at the start', async () => {
    const { child, end } = run(2_000, 'pipe');
    child.stdout?.destroy();
    const { code, dropped } = await end();
    expect(code).toBe(0);
    expect(dropped).toBeGreaterThan(0);
  });

  it('neither blocks nor keeps the process alive while a pipe is not read, and drops the excess', async () => {
    const pipe = openPipe();
    const { end } = run(20_000, pipe.write);
    const { code, dropped } = await end();
    expect(code).toBe(0);
    expect(dropped).toBeGreaterThan(1_000);
    const lines = readPipe(pipe.read).split('\n').slice(0, -1);
    expect(lines.length).toBeGreaterThan(50);
    expect(JSON.parse(lines[0] as string)).toMatchObject({ level: 'info', line: 0 });
  });

  it('reports how many lines were dropped when it is read again, and drops no others', async () => {
    const pipe = openPipe();
    const { end } = run(20_000, pipe.write);
    let text = '';
    await expect
      .poll(
        () => {
          text += readPipe(pipe.read);
          return text;
        },
        { timeout: 20_000, interval: 5 },
      )
      .toContain('lines were dropped because nobody read them');
    const { code, dropped } = await end();
    text += readPipe(pipe.read);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { line?: number; dropped?: number; msg: string });
    expect(code).toBe(0);
    expect(lines.at(-1)?.msg).toBe('last');
    expect(lines.find((line) => line.dropped !== undefined)?.dropped).toBe(dropped);
    const written = lines.flatMap(({ line }) => (line === undefined ? [] : [line]));
    expect(written.length + dropped).toBe(20_000);
    expect(written).toEqual(written.map((_, index) => index));
  });

  it('is whole in a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'grove-test-'));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'out');
    const file = openSync(path, 'a');
    cleanups.push(() => closeSync(file));
    const { end } = run(500, file);
    expect(await end()).toEqual({ code: 0, dropped: 0 });
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(501);
  });
});
