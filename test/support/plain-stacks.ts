/*
 * AVA starts its workers with `--enable-source-maps`. Node strips types in place, so that no file of this project has a
 * map; looking for those of the dependencies, and mapping each stack that is read, was a fifteenth of what the tests
 * cost.
 */
process.setSourceMapsEnabled(false);
