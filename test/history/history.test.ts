import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { pendingTypes, readTypeCount } from '#runtime/tree/index-catalog.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';
import {
  presentFormats,
  type Recording,
  readRecording,
  recordingNames,
  recordingsFolder,
  unpackFolder,
} from './recording.ts';

/** Largest recording, in bytes: all of them are cloned by everybody. */
const RECORDING_BYTES_MAX = 200_000;

const branchFile = /^actors\/default\/magazine~[^/]+\/main~[^/]+\/branch\/data\.mdb$/;

describe('recorded data directories', () => {
  it('are there for the formats this build writes; a new format wants `npx node test/history/record.ts`', () => {
    const formats = recordingNames().map((name) => readRecording(name).formats);
    expect(formats).toContainEqual(presentFormats);
  });

  it('are small', () => {
    for (const name of recordingNames()) {
      expect(statSync(join(recordingsFolder, name)).size).toBeLessThan(RECORDING_BYTES_MAX);
    }
  });
});

describe.each(recordingNames())('the recording %s', (name) => {
  let recording: Recording;
  let folder: string;
  let server: TestServer;

  /** Looks at the stored branch while no member runs. */
  function inspect<T>(look: (shard: LmdbShard) => T): T {
    const file = Object.keys(recording.files).find((path) => branchFile.test(path)) as string;
    const shard = new LmdbShard(join(folder, dirname(file)), [...commonTableNames, ...branchTableNames]);
    try {
      return look(shard);
    } finally {
      void shard.close();
    }
  }

  beforeAll(() => {
    recording = readRecording(name);
    folder = mkdtempSync(join(tmpdir(), 'grove-history-'));
    unpackFolder(recording.files, folder);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('has its last writes in the journal alone', () => {
    const before = inspect((shard) => shard.position.sequence);
    const journal = Object.keys(recording.files).filter((path) => path.startsWith('journal/'));
    expect(before).toBeGreaterThan(0);
    expect(journal.length).toBeGreaterThan(0);
    expect(before).toBeLessThan(recording.lastSequence);
  });

  it('is opened, and answers everything as the build that wrote it did [DUR-019]', async () => {
    server = await startServer({ dataDir: folder });
    try {
      expect(recording.answers.length).toBeGreaterThan(40);
      for (const { method, path, body, status, json } of recording.answers) {
        const answer = await server.admin(method, path, body);
        expect([path, answer.status]).toEqual([path, status]);
        // A later build may say more, never less or something else.
        if (Array.isArray(json) || (typeof json === 'object' && json !== null)) {
          expect(answer.json, path).toMatchObject(json);
        } else expect(answer.json, path).toEqual(json);
      }
    } finally {
      await server.close();
    }
  });

  it('is whole after that, every table and index of it, and takes further writes [DUR-019]', async () => {
    const pending = inspect((shard) => {
      expect(findDamage(shard)).toEqual([]);
      expect(shard.position.sequence).toBeGreaterThanOrEqual(recording.lastSequence);
      return pendingTypes(shard).length;
    });
    server = await startServer({ dataDir: folder });
    try {
      const articles = '/api/repository/magazine/main/head/articles';
      const node = { name: 'New', node_type: 'mag:Article', properties: { title: 'T', code: 'g-2' } };
      const taken = await server.admin('POST', `${articles}/`, node);
      expect([taken.status, taken.json.field]).toEqual([400, 'properties.code']);
      const created = await server.admin('POST', `${articles}/`, {
        ...node,
        properties: { title: 'T', code: 'n-1' },
      });
      expect(created.status).toBe(201);
      const renamed = await server.admin('POST', `${articles}/summer/gardens/svc:rename`, {
        newName: 'parks',
      });
      expect(renamed.status).toBe(200);
      await server.restart();
      expect((await server.admin('GET', `${articles}/new`)).json).toEqual(created.json);
      expect((await server.admin('GET', `${articles}/summer/parks@title`)).json).toBe('Gardens in May');
      // The first write has announced the indexes that lack rows of this build.
      const jobs = new JobsClient(server, server.adminToken);
      const named = () => jobs.named('PropertyIndexBuild(magazine/main)');
      if (pending > 0) {
        await until(async () => (await named()) !== undefined, 'the job is enqueued');
        expect(await jobs.ended((await named()).id)).toMatchObject({ status: 'Completed' });
      }
    } finally {
      await server.close();
    }
    inspect((shard) => {
      expect(findDamage(shard)).toEqual([]);
      expect(pendingTypes(shard)).toEqual([]);
      expect(readTypeCount(shard, 'articles', 'mag:Article')?.fields.properties).toContain('author');
    });
  });
});
