import { existsSync } from 'node:fs';
import { ConsistentReads } from '#cluster/router/consistent-reads.ts';

/**
 * Loaded by a member before anything else: while the file exists that `GROVE_TEST_OLD_FILE` names, its local reads return
 * their previous answers. So a test can have a follower that is behind for as long as it needs one.
 */
const { GROVE_TEST_OLD_FILE: file } = process.env;
const { tryLocal } = ConsistentReads.prototype;
const known = new Map<string, unknown>();

ConsistentReads.prototype.tryLocal = function (partition, actor, query, caller) {
  const key = `${actor} ${JSON.stringify(query)}`;
  if (file === undefined || !existsSync(file)) {
    known.set(key, tryLocal.call(this, partition, actor, query, caller));
  }
  return known.get(key);
};
