import { statfsSync } from 'node:fs';

/** Why a file system does not keep durable data. */
type Kind = 'memory' | 'network' | 'unknown';

/** File systems by the number that `statfs(2)` reports for them (`linux/magic.h`). */
const unsuited: ReadonlyMap<number, readonly [name: string, kind: Kind]> = new Map([
  [0x0102_1994, ['tmpfs', 'memory']],
  [0x8584_58f6, ['ramfs', 'memory']],
  [0x6969, ['NFS', 'network']],
  [0x517b, ['SMB', 'network']],
  [0xff53_4d42, ['CIFS', 'network']],
  [0xfe53_4d42, ['SMB', 'network']],
  [0x0102_1997, ['9P', 'network']],
  [0x00c3_6400, ['Ceph', 'network']],
  [0x0bd0_0bd0, ['Lustre', 'network']],
  [0x4750_4653, ['GPFS', 'network']],
  [0x5346_414f, ['AFS', 'network']],
  [0x6b41_4653, ['AFS', 'network']],
  [0x7375_7245, ['Coda', 'network']],
  [0x564c, ['NCP', 'network']],
  [0x786f_4256, ['a shared folder of VirtualBox', 'network']],
  [0x6573_5546, ['FUSE', 'unknown']],
]);

const reasons: Readonly<Record<Kind, string>> = {
  memory:
    'which lives in memory: everything is lost when the machine or the container restarts; this is not supported except for trying things out',
  network:
    'which is a network file system: locks and flushes do not hold there what they promise, so answered writes can be lost; move the data to a local disk',
  unknown:
    'which may keep the data on another machine, where locks and flushes do not hold what they promise; move the data to a local disk unless you know that it is one',
};

/**
 * Returns a warning for operators whose data folder is on a file system that loses durable data, whatever the
 * durability class: one in memory, or a network one.
 *
 * @param folder exists
 * @param type number of the file system; default: determined by the system
 * @returns undefined for any other volume
 */
export function unsuitedVolumeWarning(folder: string, type = statfsSync(folder).type): string | undefined {
  const found = unsuited.get(type >>> 0);
  if (found === undefined) return undefined;
  const [name, kind] = found;
  return `SVC_DATA_DIR ${folder} is on ${name}, ${reasons[kind]}`;
}
