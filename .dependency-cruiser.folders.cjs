/** Folders are floors: what stands on another one does not carry it. Types may be named upwards, since nothing runs by them. */
const { options } = require('./.dependency-cruiser.cjs');

module.exports = {
  forbidden: [
    {
      name: 'no-folder-cycles',
      comment: 'Two folders that need each other are one folder, or a file lies in the wrong one.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
  ],
  options: { ...options, tsPreCompilationDeps: false },
};
