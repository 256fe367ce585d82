import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECORD_FORMAT } from '#cluster/replication/record-format.ts';
import { BACKUP_FORMAT } from '#runtime/backup/manifest.ts';
import { JOURNAL_FORMAT } from '#runtime/embedded/segments/journal-format.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { NODE_RECORD_FORMAT } from '#runtime/tree/record/formats.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

describe('the page on upgrading', () => {
  it('names the formats this build writes and reads, and the error of an older one', () => {
    const page = readFileSync(join(projectRoot, 'docs/upgrading.md'), 'utf8');
    const rows = [...page.matchAll(/^\| ([^|]+) \| (\d+) \| ([^|]+) \| ([^|]+) \|$/gm)];
    const range = (format: number) => (format === 1 ? '1' : `1 to ${format}`);
    const row = (what: string, format: number) => [what, String(format), range(format)];
    expect(rows.map(([, what, format, reads]) => [what, format, reads])).toEqual([
      row('Journal of a single member', JOURNAL_FORMAT),
      row('Shards (`data.mdb`)', SHARD_FORMAT),
      row('Nodes in a shard', NODE_RECORD_FORMAT),
      row('Backups', BACKUP_FORMAT),
      row('Log of a partition in NATS', RECORD_FORMAT),
    ]);
    expect(rows[0]?.[4]).toContain(
      `the segment has format ${JOURNAL_FORMAT}, this version reads up to ${JOURNAL_FORMAT - 1}`,
    );
  });
});
