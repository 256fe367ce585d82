import { statfsSync } from 'node:fs';

/** File systems that live in memory, by the number `statfs(2)` has for them. */
const volatileTypes: ReadonlyMap<number, string> = new Map([
  [0x0102_1994, 'tmpfs'],
  [0x8584_58f6, 'ramfs'],
]);

/**
 * What to tell an operator whose data folder is on a file system in memory: a flush does nothing there, so an answered
 * write does not survive a restart of the machine or of the container, whatever the durability class says.
 *
 * @param folder exists
 * @returns undefined where the volume is another one
 */
export function volatileVolumeWarning(folder: string): string | undefined {
  const name = volatileTypes.get(statfsSync(folder).type >>> 0);
  return name === undefined
    ? undefined
    : `SVC_DATA_DIR ${folder} is on ${name}, which lives in memory: everything is lost when the machine or the container restarts; this is not supported except for trying things out`;
}
