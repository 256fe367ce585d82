import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endChild, freePort, spawnPinned } from './child.ts';
import { SERVER_CORE } from './machine.ts';

/** The bare peer on the server core. */
export class BareUws {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Starts a server that answers every request with `body`. */
  static async start(folder: string, body: string): Promise<BareUws> {
    const file = join(folder, 'bare-answer.json');
    writeFileSync(file, body);
    const port = await freePort();
    const peer = join(import.meta.dirname, '..', 'peers', 'bare-uws.ts');
    const child = spawnPinned(SERVER_CORE, process.execPath, [peer, String(port), file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    return new BareUws(child, port);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  async stop(): Promise<void> {
    await endChild(this.#child, 'SIGTERM');
  }
}
