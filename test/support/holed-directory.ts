import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ContentClient, expectStatus } from './content-client.ts';
import { branchFile, change, filesIn } from './damaged-directory.ts';
import { startServer } from './server.ts';

/** Text of the record that is damaged. */
const DAMAGED = 'the damaged record';

/**
 * A data directory whose journal keeps a segment because of damage, and lacks later ones: branch main of repository
 * `one` is refused; `unused` was made in the kept segment and never written to, `gone` was made there and removed later.
 */
export async function makeHoledDirectory(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'grove-holed-'));
  const server = await startServer({ dataDir });
  const client = new ContentClient(server, await server.createRepository('one'));
  const space = await client.workspace();
  await space.addAll('/kept');
  await server.close();
  const older = join(dataDir, 'older');
  cpSync(dirname(branchFile(dataDir, 'one')), older, { recursive: true });
  await server.restart();
  for (const name of ['gone', 'unused']) await server.createRepository(name);
  // Makes the locks of the branch, and writes nothing to them.
  const unknown = { key: 'k', token: 1, ttl_ms: 1000 };
  expectStatus(await server.admin('POST', '/api/unused/main/locks/renew', unknown), 200);
  const gone = await new ContentClient(server, 'gone').workspace();
  await gone.addAll('/a');
  const page = { name: 'later', node_type: 'svc:Page', properties: { title: DAMAGED } };
  expectStatus(await space.post('/', page), 201);
  await server.close();
  const shard = dirname(branchFile(dataDir, 'one'));
  rmSync(shard, { recursive: true });
  cpSync(older, shard, { recursive: true });
  rmSync(older, { recursive: true });
  for (const path of filesIn(join(dataDir, 'journal'), '.journal'))
    change(path, (bytes) => {
      const at = bytes.indexOf(DAMAGED);
      if (at >= 0) bytes[at] = (bytes[at] as number) ^ 1;
      return bytes;
    });
  await server.restart();
  expectStatus(await server.admin('DELETE', '/api/repositories/gone'), 200, 204);
  // The segment with the removal leaves.
  for (let restart = 0; restart < 3; restart += 1) {
    await server.restart();
    await server.createRepository(`later${restart}`);
  }
  await server.close();
  const segments = readdirSync(join(dataDir, 'journal'));
  if (!segments.includes('damage.json')) throw new Error(`no decision: ${segments.join(', ')}`);
  return dataDir;
}
