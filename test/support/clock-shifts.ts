import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** What a process with such a clock has to load first. */
export const shiftedClock = pathToFileURL(join(import.meta.dirname, 'shifted-clock.ts')).href;

/** The wall clocks of some processes, each away from the machine's by as much as a test says. */
export class ClockShifts {
  readonly #folder = mkdtempSync(join(tmpdir(), 'grove-clocks-'));

  /** @param shiftsMs of each process, in milliseconds */
  constructor(shiftsMs: readonly number[]) {
    for (const [index, shiftMs] of shiftsMs.entries()) writeFileSync(this.#file(index), String(shiftMs));
  }

  /** Environment a process has to be started with, besides {@link shiftedClock}. */
  env(index: number): Readonly<Record<string, string>> {
    return { GROVE_TEST_CLOCK_FILE: this.#file(index) };
  }

  /** Steps the clock of a process that runs. */
  step(index: number, shiftMs: number, pid: number): void {
    writeFileSync(this.#file(index), String(shiftMs));
    process.kill(pid, 'SIGWINCH');
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #file(index: number): string {
    return join(this.#folder, `shift-${index}`);
  }
}
