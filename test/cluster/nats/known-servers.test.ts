import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KnownServers } from '#cluster/nats/known-servers.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';

let folder: string;
let known: KnownServers;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'known-servers-'));
  known = new KnownServers(realFileSystem, folder);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const nothing = { jetStreamServers: undefined, servers: new Map() };

describe('what is known of NATS servers from the last start', () => {
  it('is nothing at the first one', async () => {
    expect(await known.read()).toEqual(nothing);
  });

  it('is what was written last', async () => {
    const server = { name: 'n1', version: '2.9.10', syncsAlways: false };
    for (const jetStreamServers of [undefined, 3]) {
      const pages = { jetStreamServers, servers: new Map([['http://10.0.0.11:8222', server]]) };
      await known.write(pages);
      expect(await new KnownServers(realFileSystem, folder).read()).toEqual(pages);
    }
    expect(readdirSync(folder)).toEqual(['nats-servers.json']);
  });

  it.each([
    '',
    '{"format":1',
    '{"format":2,"pages":[]}',
    'null',
    '{"format":1,"pages":[{"url":"http://10.0.0.11:8222","server":{"name":"n1","version":7,"syncsAlways":true}}]}',
  ])('is nothing where the file is damaged: %j', async (text) => {
    writeFileSync(join(folder, 'nats-servers.json'), text);
    expect(await known.read()).toEqual(nothing);
  });
});
