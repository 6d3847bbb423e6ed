# Completion of lynxpp for fish. lynxpp itself lists the candidates.
function __lynxpp_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :command
                __fish_complete_command
                __fish_complete_path (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c lynxpp -f -a '(__lynxpp_complete)'
