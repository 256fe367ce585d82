import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { startServer } from '#test/support/server.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

it('a start whose port is taken at the last moment makes no account, and prints no password', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'grove-first-start-'));
  cleanups.push(() => rmSync(dataDir, { recursive: true }));
  const port = await freePorts([0]);
  const thief = createServer();
  cleanups.push(() => new Promise((resolve) => thief.close(resolve)));
  const taken = Promise.withResolvers<void>();
  // The journal is opened after the first look at the port and before the account is made.
  const files: FileSystem = {
    ...realFileSystem,
    async makeDirectory(path) {
      if (path.endsWith('/journal')) {
        thief.listen(port, '127.0.0.1', () => taken.resolve());
        await taken.promise;
      }
      await realFileSystem.makeDirectory(path);
    },
  };
  const env = { SVC_ADMIN_PASSWORD: undefined };
  await expect(startServer({ dataDir, files, env: { ...env, PORT: String(port) } })).rejects.toThrow(
    `port ${port} is in use on 127.0.0.1; start with PORT=`,
  );
  await taken.promise;
  const server = await startServer({ dataDir, env });
  cleanups.push(() => server.close());
  expect(server.printed.join('\n')).toMatch(/password {2}\S{16} /);
});
