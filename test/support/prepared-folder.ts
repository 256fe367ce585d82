import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { startServer, type TestServer } from './server.ts';

/**
 * A data folder that is filled once for all tests of a file: what they do to their own copies of it counts from there.
 *
 * @returns makes a copy, which belongs to whoever asked for it
 */
export function preparedFolder(fill: (server: TestServer) => Promise<void>): () => string {
  const newFolder = (): string => mkdtempSync(join(tmpdir(), 'grove-test-'));
  let template: string;
  beforeAll(async () => {
    template = newFolder();
    const server = await startServer({ dataDir: template });
    try {
      await fill(server);
    } finally {
      await server.close();
    }
  });
  afterAll(() => rmSync(template, { recursive: true, force: true }));
  return () => {
    const copy = newFolder();
    cpSync(template, copy, { recursive: true });
    return copy;
  };
}
