import { OptionError } from '#runtime/config/option.ts';
import type { FoundSecrets } from '#runtime/config/secrets.ts';
import type { DirectoryKey } from '#runtime/actor/host/host-storage.ts';

const whatToDo =
  'Nothing was changed. Put the key back: the file from a copy, or the variable SVC_MASTER_KEY as it was. Without that key ' +
  'the signatures of backups that were made here cannot be verified, and what was encrypted with it cannot be read; content ' +
  'is not. When it is gone for good, make a new data directory, which gets a key of its own: npm run salvage -- --help';

/** An older version did not store the key and accepted either: only backups are signed with it. */
function doubtOf(source: string, path: string): string {
  return (
    `${source} is another key than the one in ${path}, and nothing says which of them the data directory was made with. ` +
    'Nothing was changed. Unset the variable to use the key in the file; or, where the variable has the right one, move the ' +
    'file away. The start that follows notes the key, and from then on no other one is taken'
  );
}

/** The key is right, but a part of the directory still needs the one before it. */
function halfOf(source: string, previousSource: string): string {
  return (
    `The key before ${source} is needed: some of what was encrypted with it is not encrypted with the new one yet. Nothing ` +
    `was changed. Give the key before it as SVC_MASTER_KEY_PREVIOUS, or in secrets/master-key-previous (looked at: ` +
    `${previousSource}), and keep it until the log says that nothing needs it any more`
  );
}

/** The keys of a data directory, for whoever encrypts its content anew. */
export interface RotatedKey extends DirectoryKey {
  /** See {@link DirectoryKey.recorded}; nothing where the directory records no keys, as in a cluster. */
  dropPrevious(): Promise<void>;
}

/** Returns the master keys in the form that a data directory checks. */
export function directoryKey(secrets: FoundSecrets): RotatedKey {
  const { isMasterKeyNew, masterKey, masterKeySource, previousMasterKey, previousMasterKeySource } = secrets;
  let drop = (): Promise<void> => Promise.resolve();
  return {
    check: masterKey.checkValue,
    previousCheck: previousMasterKey?.checkValue,
    store: () => secrets.store(),
    recorded(dropPrevious) {
      drop = dropPrevious;
    },
    dropPrevious: () => drop(),
    doubt() {
      const path = secrets.otherMasterKey();
      return path === undefined ? undefined : new OptionError([doubtOf(masterKeySource, path)]);
    },
    refusal(isHalf) {
      if (isHalf) return new OptionError([halfOf(masterKeySource, previousMasterKeySource)]);
      const what =
        isMasterKeyNew && previousMasterKey === undefined
          ? 'is missing: the data directory was made with another key than a new one'
          : 'is another key than the one the data directory was made with';
      const neither =
        previousMasterKey === undefined ? '' : `, and so is ${previousMasterKeySource}, the key before it`;
      return new OptionError([`${masterKeySource} ${what}${neither}. ${whatToDo}`]);
    },
  };
}
